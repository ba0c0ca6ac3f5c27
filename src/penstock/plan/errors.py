"""What can be wrong with a plan, or go wrong while it is applied.

InvalidPlanError            all problems of a plan, together
TopicProblemError           the base of single problems, each at the line of a declaration
    ExternalTopicMissingError, FewerPartitionsDeclaredError, KeyedTopicGrowsError,
    TooManyReplicasError, TopicRefusedError
PlanInterruptedError, TopicAppearedError
"""

from collections.abc import Sequence

from penstock.errors import Origin, PenstockError
from penstock.names import TopicName, nearest


class InvalidPlanError(PenstockError):
    """The cluster cannot become what is declared."""

    code = "PEN-200"

    def __init__(self, pipeline: str, problems: Sequence[PenstockError]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(
            f"the topics of pipeline `{pipeline}` have {count}",
            hint="correct the declarations or the cluster; nothing was started or changed",
        )
        self.problems = tuple(problems)

    def as_dict(self) -> dict[str, object]:
        """Return the fields of the error and of each problem."""
        return super().as_dict() | {"problems": [item.as_dict() for item in self.problems]}


class TopicProblemError(PenstockError):
    """One topic cannot be what its declaration says."""


class ExternalTopicMissingError(TopicProblemError):
    """A topic that somebody else looks after is not there."""

    code = "PEN-201"

    def __init__(self, topic: TopicName, *, known: Sequence[str], origin: Origin | None) -> None:
        close = nearest(topic, known)
        super().__init__(
            f"topic `{topic}` is declared as external and does not exist",
            hint=f"did you mean `{close}`? It is set by `kafka_name`"
            if close
            else "ask its owner to create it, or remove `external=True` to let Penstock do so",
            origin=origin,
        )


class FewerPartitionsDeclaredError(TopicProblemError):
    """A topic has more partitions than are declared, and Kafka cannot remove any."""

    code = "PEN-202"

    def __init__(
        self, topic: TopicName, *, found: int, declared: int, origin: Origin | None
    ) -> None:
        super().__init__(
            f"topic `{topic}` has {found} partitions and {declared} are declared; "
            "Kafka cannot remove partitions",
            hint=f"declare `partitions={found}`, or leave it out; for fewer, declare another topic",
            origin=origin,
        )


class KeyedTopicGrowsError(TopicProblemError):
    """More partitions would send keys elsewhere, and the declaration does not allow that."""

    code = "PEN-203"

    def __init__(
        self, topic: TopicName, *, found: int, declared: int, why: str, origin: Origin | None
    ) -> None:
        super().__init__(
            f"topic `{topic}` {why}: with {declared} partitions instead of {found}, keys would "
            "move to other partitions and lose their order",
            hint=f"declare `keys_may_move=True` when nobody relies on the order per key, or go "
            f"back to `partitions={found}`",
            origin=origin,
        )


class TooManyReplicasError(TopicProblemError):
    """A new topic asks for more copies than there are brokers."""

    code = "PEN-204"

    def __init__(
        self, topic: TopicName, *, declared: int, broker_count: int, origin: Origin | None
    ) -> None:
        super().__init__(
            f"topic `{topic}` is declared with replication {declared}, "
            f"and the cluster has {broker_count} {'broker' if broker_count == 1 else 'brokers'}",
            hint=f"declare `replication={broker_count}` at most, or leave it out for the "
            "cluster's default",
            origin=origin,
        )


class TopicRefusedError(TopicProblemError):
    """The cluster does not accept the topic as it is declared."""

    code = "PEN-205"

    def __init__(
        self, topic: TopicName, *, fault: PenstockError, hint: str, origin: Origin | None
    ) -> None:
        super().__init__(
            f"topic `{topic}` cannot become what is declared: {fault.message}",
            hint=hint,
            origin=origin,
        )
        self.fault = fault


class PlanInterruptedError(PenstockError):
    """A plan was applied in part."""

    code = "PEN-206"

    def __init__(
        self, *, failed: str, fault: PenstockError, done: Sequence[str], left: Sequence[str]
    ) -> None:
        rest = f"; still to do: {'; '.join(left)}" if left else ""
        super().__init__(
            f"could not {failed}: {fault.message}; already done: {'; '.join(done)}{rest}",
            hint=f"{fault.hint}; then start again: what is done stays and is not repeated",
        )
        self.fault, self.done, self.left = fault, tuple(done), tuple(left)


class TopicAppearedError(PenstockError):
    """Somebody else has created a topic while the plan was on its way, and not as planned."""

    code = "PEN-207"

    def __init__(self, topic: TopicName, *, differences: Sequence[str]) -> None:
        super().__init__(
            f"topic `{topic}` has been created by somebody else meanwhile, with "
            + ", ".join(differences),
            hint="start again: a new plan starts from the topic as it is, or says what cannot be",
        )
