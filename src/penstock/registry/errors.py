"""What the registry answers when it cannot do what was asked: Confluent's status and error codes.

These are answers to clients of the REST API, which know them by number; they are not errors of
`penstock`'s own commands and have no page under `docs/errors`. One class for each code.
"""

from typing import ClassVar


class RegistryError(Exception):
    """A refusal, as the REST API words it: HTTP status, error code, message."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class _NotFoundError(RegistryError):
    number: ClassVar[int]

    def __init__(self, message: str) -> None:
        super().__init__(404, self.number, message)


class SubjectNotFoundError(_NotFoundError):
    """There is no such subject, or no version of it that is not deleted."""

    number = 40401

    def __init__(self, subject: str) -> None:
        super().__init__(f"Subject '{subject}' not found.")


class VersionNotFoundError(_NotFoundError):
    """The subject has no such version."""

    number = 40402

    def __init__(self, version: int) -> None:
        super().__init__(f"Version {version} not found.")


class SchemaNotFoundError(_NotFoundError):
    """There is no such id, or the subject has no such schema."""

    number = 40403

    def __init__(self, schema: int | str | None = None) -> None:
        super().__init__("Schema not found" if schema is None else f"Schema {schema} not found")


class SubjectSoftDeletedError(_NotFoundError):
    """The subject is deleted already."""

    number = 40404

    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"
        )


class SubjectNotSoftDeletedError(_NotFoundError):
    """Only what is deleted can be deleted permanently."""

    number = 40405

    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' was not deleted first before being permanently deleted"
        )


class VersionSoftDeletedError(_NotFoundError):
    """The version is deleted already."""

    number = 40406

    def __init__(self, subject: str, version: str | int) -> None:
        super().__init__(
            f"Subject '{subject}' Version {version} was soft deleted. "
            "Set permanent=true to delete permanently"
        )


class VersionNotSoftDeletedError(_NotFoundError):
    """Only what is deleted can be deleted permanently."""

    number = 40407

    def __init__(self, subject: str, version: int) -> None:
        super().__init__(
            f"Subject '{subject}' Version {version} was not deleted first before being "
            "permanently deleted"
        )


class ConfigNotFoundError(_NotFoundError):
    """The subject has no config of its own."""

    number = 40408

    def __init__(self, subject: str) -> None:
        super().__init__(
            f"Subject '{subject}' does not have subject-level compatibility configured"
        )


class ModeNotFoundError(_NotFoundError):
    """The subject has no mode of its own."""

    number = 40409

    def __init__(self, subject: str) -> None:
        super().__init__(f"Subject '{subject}' does not have subject-level mode configured")


class IncompatibleSchemaError(RegistryError):
    """The schema does not fit those before it."""

    def __init__(self, subject: str, reasons: list[str]) -> None:
        super().__init__(
            409,
            409,
            "Schema being registered is incompatible with an earlier schema for subject "
            f'"{subject}", details: [{", ".join(reasons)}]',
        )


class _UnprocessableError(RegistryError):
    number: ClassVar[int]

    def __init__(self, message: str) -> None:
        super().__init__(422, self.number, message)


class RejectedSchemaError(_UnprocessableError):
    """The text is not a schema of its type, or its type is unknown."""

    number = 42201

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class InvalidVersionError(_UnprocessableError):
    """The version is neither a number from 1 nor `latest`."""

    number = 42202

    def __init__(self, version: str) -> None:
        super().__init__(
            f"The specified version '{version}' is not a valid version id. "
            'Allowed values are between [1, 2^31-1] and the string "latest"'
        )


class InvalidLevelError(_UnprocessableError):
    """There is no such compatibility level."""

    number = 42203

    def __init__(self) -> None:
        super().__init__(
            "Invalid compatibility level. Valid values are none, backward, forward, full, "
            "backward_transitive, forward_transitive, and full_transitive"
        )


class InvalidModeError(_UnprocessableError):
    """There is no such mode."""

    number = 42204

    def __init__(self) -> None:
        super().__init__(
            "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT, FORWARD"
        )


class NotPermittedError(_UnprocessableError):
    """The mode of the subject forbids it."""

    number = 42205

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class ReferenceExistsError(_UnprocessableError):
    """Another schema refers to what was to be deleted."""

    number = 42206

    def __init__(self, subject: str, version: int) -> None:
        super().__init__(
            f"One or more references exist to the schema {{subject={subject},version={version}}}."
        )


class IdDoesNotMatchError(_UnprocessableError):
    """The subject has this schema, under another id."""

    number = 42207

    def __init__(self, existing: int, given: int) -> None:
        super().__init__(
            f"Schema already registered with id {existing} instead of input id {given}"
        )


class InvalidSubjectError(_UnprocessableError):
    """Nothing can be registered under this name."""

    number = 42208

    def __init__(self, subject: str) -> None:
        super().__init__(f"The specified subject '{subject}' is not a valid.")


class TooLargeError(_UnprocessableError):
    """The log does not take records of this size."""

    number = 42209

    def __init__(
        self, message: str = "Register operation failed because schema is too large"
    ) -> None:
        super().__init__(message)


class InvalidRuleSetError(_UnprocessableError):
    """A rule cannot be applied."""

    number = 42210

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class ContextNotEmptyError(_UnprocessableError):
    """A context with schemas in it cannot be deleted."""

    number = 42211

    def __init__(self, context: str) -> None:
        super().__init__(f"The specified context '{context}' is not empty.")


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
