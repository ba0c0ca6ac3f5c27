"""What a worker can be asked to be, and which wishes contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.kafka.consumer.commits import CommitPolicy
    from penstock.kafka.consumer.membership import Start
    from penstock.names import GroupId, TopicName

MAX_RETRY_DELAY_SECONDS = 30.0
MIN_HANDLING_SECONDS = 6.0
"""The broker's default for `group.min.session.timeout.ms`."""


class InvalidWorkerError(UsageError):
    """The arguments of a worker do not fit together."""

    code = "PEN-496"

    def __init__(self, *, reason: str, hint: str) -> None:
        super().__init__(f"this worker cannot be made: {reason}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker was asked to be; the arguments of `worker`."""

    topics: tuple[TopicName, ...]
    group: GroupId
    retries: int
    retry_on: tuple[type[Exception], ...]
    retry_delay_seconds: float
    dead_letters: TopicName | None
    start: Start
    commit: CommitPolicy
    max_handling_seconds: float

    def __post_init__(self) -> None:
        """Refuse what would only show when a record fails."""
        if self.retries < 0:
            raise InvalidWorkerError(reason=f"`retries` is {self.retries}", hint="give 0 or more")
        if self.dead_letters in self.topics:
            raise InvalidWorkerError(
                reason=f"`{self.dead_letters}` is both read and given the dead letters",
                hint="name another topic in `dead_letters`",
            )
        if self.max_handling_seconds < MIN_HANDLING_SECONDS:
            raise InvalidWorkerError(
                reason=f"`max_handling_seconds` is {self.max_handling_seconds:g}",
                hint=f"give {MIN_HANDLING_SECONDS:g} s or more: brokers refuse shorter sessions",
            )
        waiting = sum(self.retry_delays())
        if waiting >= self.max_handling_seconds:
            raise InvalidWorkerError(
                reason=f"{self.retries} retries wait {waiting:g} s in all, and a record may take "
                f"{self.max_handling_seconds:g} s",
                hint="raise `max_handling_seconds`, or retry less",
            )

    def retry_delays(self) -> list[float]:
        """Return how long to wait before each retry: doubling, up to half a minute."""
        return [
            min(self.retry_delay_seconds * 2**attempt, MAX_RETRY_DELAY_SECONDS)
            for attempt in range(self.retries)
        ]
