"""What can be wrong with masks, and with what somebody asks of the record browser."""

from __future__ import annotations

from penstock.console.errors import HiddenError, OverloadedError
from penstock.errors import UsageError


class InvalidQuestionError(UsageError):
    """A parameter of the record browser cannot be understood."""

    code = "PEN-760"

    def __init__(self, value: str, *, name: str, wanted: str) -> None:
        super().__init__(f"`{name}` is `{value}`, which is not {wanted}", hint="correct it there")


class InvalidMaskError(UsageError):
    """A mask of the settings names a field in a way that is not understood."""

    code = "PEN-763"

    def __init__(self, path: str, *, topics: str) -> None:
        super().__init__(
            f"the mask of `{topics}` has `{path}`, which is not a JSON path",
            hint="write `$.card.number`, `$.items[*].price`, or `$` for the whole; "
            "`[[console.masks]]` in penstock.toml has them",
        )


class HiddenFieldError(HiddenError):
    """Somebody filters by something that is hidden from him."""

    code = "PEN-762"

    def __init__(self, topic: str, *, what: str) -> None:
        super().__init__(
            f"records of `{topic}` cannot be filtered by {what}: it is hidden from your role",
            hint="filter by something else; `[[console.masks]]` in penstock.toml says which role "
            "sees it",
        )


class TooManySearchesError(OverloadedError):
    """As many searches through records run as the console allows at once."""

    code = "PEN-764"
    retryable = True

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} searches through records are running, and more would slow down all of them",
            hint="try again in a moment, or cancel one of yours",
        )


class TooManyExportsError(OverloadedError):
    """As many files of records are made as the console allows at once."""

    code = "PEN-768"
    retryable = True

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} files of records are being made, and more would not fit into memory",
            hint="try again in a moment; `penstock consume --json` takes any number of records",
        )


class UnproducibleError(UsageError):
    """What was entered cannot become a record."""

    code = "PEN-765"

    def __init__(self, *, side: str, reason: str, hint: str) -> None:
        super().__init__(f"the {side} {reason}", hint=hint)


class HiddenRecordError(HiddenError):
    """Something of a record is hidden, so that its bytes are not given out either."""

    code = "PEN-766"

    def __init__(self, topic: str, *, what: str) -> None:
        super().__init__(
            f"this record of `{topic}` cannot be {what}: something in it is hidden from your role",
            hint="`[[console.masks]]` in penstock.toml says which role sees it",
        )


class OwnTopicError(HiddenError):
    """Somebody wants to produce to a topic that Kafka or Penstock keeps for itself."""

    code = "PEN-767"

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"`{topic}` is not produced to here: Kafka or Penstock keeps its own records in it",
            hint="what these records bring about has a page or a command of its own",
        )
