"""Records that were gone before a flow could read them, found before each start.

Spark notices some of this and goes on silently about the rest: a topic that was deleted, created
again and has grown past the old offsets looks like the same topic. So topic ids and offsets are
compared with the certificate and the checkpoint. What is missing is an error with counts, unless
the topic is declared with `on_data_loss="continue"`: then the checkpoint is moved to what Kafka
still has. A planned batch is not dropped but shortened, and keeps its id: a sink that has written
it already would take a different batch of the same id for the same one. What lanes have written of
it is noted first (`exactly_once/losses.py`).

Counts come from offsets, which bound the number of records from above.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import end_offsets, first_offsets, topic_identities
from penstock.names import Offset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.engine.certificates import BirthCertificate
    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.events import Offsets
    from penstock.errors import Origin
    from penstock.kafka import Admin, TopicIdentity, TopicPartition
    from penstock.names import FlowName, TopicName
    from penstock.pipeline import Topic


class LossReason(StrEnum):
    """How records went away."""

    RECREATED = "the topic was deleted and created again"
    EXPIRED = "records were removed before they were read"
    TRUNCATED = "the topic ends before the offset that was read last"


class DataLossError(PenstockError):
    """Records were gone before the flow could read them."""

    code = "PEN-346"

    def __init__(self, flow: FlowName, loss: Loss, *, origin: Origin) -> None:
        super().__init__(
            f"flow `{flow}` cannot go on where it was in topic `{loss.topic}`: {loss.reason}; "
            f"{_counted(loss)}",
            hint='`on_data_loss="continue"` at the topic lets the flow go on with what is there',
            origin=origin,
        )
        self.flow, self.loss = flow, loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What a flow can no longer read of one topic, and where it can go on."""

    topic: TopicName
    reason: LossReason
    lost: Mapping[TopicPartition, int]
    """At most so many records per partition; empty when nobody can know."""

    reached: Offsets
    """Up to where the flow has read."""

    bounds: Mapping[TopicPartition, tuple[Offset, Offset]]
    """First and end offset of each partition that there is now."""

    def moved(self, offsets: Offsets) -> Offsets:
        """Return offsets of the old topic as offsets that Kafka has now."""
        if self.reason is LossReason.RECREATED:
            return {partition: first for partition, (first, _) in self.bounds.items()}
        return {
            partition: Offset(min(max(offsets.get(partition, first), first), end))
            for partition, (first, end) in self.bounds.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A topic as Kafka has it now."""

    identity: TopicIdentity
    firsts: Offsets
    ends: Offsets


def look_at_topics(admin: Admin, topics: Sequence[Topic]) -> dict[TopicName, TopicState]:
    """Return ids and offsets of topics.

    Raises:
        UnknownTopicError: one of them does not exist.
        ClusterError: Kafka does not answer, or not to this user.
    """
    identities = topic_identities(admin, [topic.kafka_name for topic in topics])
    partitions = [item for identity in identities.values() for item in identity.partitions]
    firsts = first_offsets(admin, partitions)
    ends = end_offsets(admin, partitions)
    return {
        name: TopicState(
            identity=identity,
            firsts={item: firsts[item] for item in identity.partitions},
            ends={item: ends[item] for item in identity.partitions},
        )
        for name, identity in identities.items()
    }


def find_loss(
    topic: Topic, state: TopicState, *, known_id: str | None, reached: Offsets
) -> Loss | None:
    """Return what is missing of a topic, None when the flow can go on.

    Args:
        topic: which topic.
        state: what Kafka has now.
        known_id: the id that the topic had when the flow was last started; None: never read.
        reached: up to where the flow has read it; empty: it has not begun.
    """
    if known_id is not None and known_id != state.identity.topic_id:
        # How much of the old topic was unread nobody can say any more.
        return _loss(topic, state, LossReason.RECREATED, reached)
    if not reached:
        return None
    # Partitions that were added later are read from their beginning, which is 0.
    expired = {
        partition: first - reached.get(partition, 0)
        for partition, first in state.firsts.items()
        if first > reached.get(partition, 0)
    }
    if expired:
        return _loss(topic, state, LossReason.EXPIRED, reached, expired)
    if any(state.ends.get(partition, -1) < offset for partition, offset in reached.items()):
        return _loss(topic, state, LossReason.TRUNCATED, reached)
    return None


def reached_offsets(checkpoint: CheckpointFolder, topic: Topic) -> Offsets:
    """Return up to where a flow has read a topic: its last commit, or where it was to begin."""
    committed = checkpoint.last_committed()
    found = {} if committed is None else checkpoint.plan(committed).offsets(topic.name)
    return found or checkpoint.initial_offsets(topic.name)


def move_checkpoint(checkpoint: CheckpointFolder, topic: Topic, loss: Loss) -> None:
    """Let the flow go on with what Kafka has; safe to repeat, also after a crash in the middle.

    The running plan comes first: moved alone, it is at worst an empty batch.
    """
    for batch_id in _batches_to_move(checkpoint):
        offsets = checkpoint.plan(batch_id).offsets(topic.name)
        if offsets:
            checkpoint.rewrite_offsets(batch_id, topic.name, loss.moved(offsets))
    initial = checkpoint.initial_offsets(topic.name)
    if initial and checkpoint.last_committed() is None:
        checkpoint.rewrite_initial_offsets(topic.name, loss.moved(initial))


def with_new_ids(
    certificate: BirthCertificate, states: Mapping[TopicName, TopicState]
) -> BirthCertificate:
    """Return the certificate with the ids that the topics have now."""
    return certificate.with_topic_ids(
        {name: state.identity.topic_id for name, state in states.items()}
    )


def _batches_to_move(checkpoint: CheckpointFolder) -> Iterator[int]:
    planned, committed = checkpoint.last_planned(), checkpoint.last_committed()
    if planned is not None and planned != committed:
        yield planned
    if committed is not None:
        yield committed


def _loss(
    topic: Topic,
    state: TopicState,
    reason: LossReason,
    reached: Offsets,
    lost: Mapping[TopicPartition, int] | None = None,
) -> Loss:
    bounds = {item: (state.firsts[item], state.ends[item]) for item in state.firsts}
    return Loss(
        topic=topic.kafka_name, reason=reason, lost=lost or {}, reached=reached, bounds=bounds
    )


def _counted(loss: Loss) -> str:
    if loss.lost:
        listed = ", ".join(f"{count} of `{item}`" for item, count in sorted(loss.lost.items()))
        return f"at most {sum(loss.lost.values())} are lost: {listed}"
    read = sum(loss.reached.values())
    there = sum(end - first for first, end in loss.bounds.values())
    return f"it had read up to {read} records of the old one; now there are at most {there}"
