"""What can become of a request to a registry, told apart by what a caller has to do next."""

from penstock.errors import PenstockError


class NotRegisteredError(PenstockError):
    """The registry has answered, and what was asked for is not in it."""

    code = "PEN-740"

    def __init__(self, asked: str, *, url: str, answer: str) -> None:
        super().__init__(
            f"{asked} is not in the registry at `{url}`: {answer}",
            hint="`penstock schemas list` shows what is there",
        )


class RegistryUnavailableError(PenstockError):
    """The registry is down, slow, or has no leader: nothing is known about what was asked for."""

    code = "PEN-741"
    retryable = True
    wait_seconds = 2.0

    def __init__(self, *, url: str, reason: str) -> None:
        super().__init__(
            f"the registry at `{url}` does not answer: {reason}",
            hint="start it (`penstock up`, `penstock registry serve`), or set `registry.url`",
        )


class RequestRefusedError(PenstockError):
    """The registry has understood the request and will not do it."""

    code = "PEN-742"

    def __init__(self, asked: str, *, url: str, error_code: int, answer: str) -> None:
        super().__init__(
            f"the registry at `{url}` refuses {asked}: {answer} (error code {error_code})",
            hint="`penstock schemas check` tells what is incompatible; "
            "`penstock schemas config` and `penstock schemas mode` show what is allowed",
        )
        self.error_code = error_code


class RegistryAccessError(PenstockError):
    """The registry does not accept the user and password, or none were given."""

    code = "PEN-743"

    def __init__(self, *, url: str, status: int) -> None:
        super().__init__(
            f"the registry at `{url}` denies access (HTTP status {status})",
            hint="set `registry.username` and `registry.password`",
        )


class NotARegistryError(PenstockError):
    """Something answers at the address, and it does not speak as a registry does."""

    code = "PEN-744"

    def __init__(self, *, url: str, found: str) -> None:
        super().__init__(
            f"what answers at `{url}` is not a schema registry: {found}",
            hint="correct `registry.url`",
        )
