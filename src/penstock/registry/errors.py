"""What the registry answers when it cannot do what was asked: Confluent's status and error codes.

These are answers to clients of the REST API, which know them by number; they are not errors of
`penstock`'s own commands and have no page under `docs/errors`.
"""


class RegistryError(Exception):
    """A refusal, as the REST API words it: HTTP status, error code, message."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class StoreError(RegistryError):
    """The log could not be written or read."""

    def __init__(self, message: str) -> None:
        super().__init__(500, 50001, message)


class StoreTimeoutError(RegistryError):
    """The log did not answer in time: whether the write took place is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(500, 50002, message)


class ForwardingError(RegistryError):
    """The leader could not be reached with a write that is its to do."""

    def __init__(self, message: str) -> None:
        super().__init__(500, 50003, message)


class NotLeaderError(RegistryError):
    """This instance may not write, and which one may is not known."""

    def __init__(self, message: str) -> None:
        super().__init__(500, 50004, message)
