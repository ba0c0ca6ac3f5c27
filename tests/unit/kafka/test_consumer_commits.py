"""Bookkeeping of commits: what is processed, when a commit is due, what is repeated."""

import pytest

from penstock.kafka import Automatic, EveryRecords, InvalidConsumerError, Manual, TopicPartition
from penstock.kafka.consumer.commits import AsyncCommits, CommitPolicy, Offsets, Progress, Schedule
from penstock.kafka.consumer.errors import CommitFailedError
from penstock.kafka.errors import ClusterBusyError, ClusterError
from penstock.names import GroupId, Offset, Partition, TopicName

P0 = TopicPartition(TopicName("orders"), Partition(0))
P1 = TopicPartition(TopicName("orders"), Partition(1))
BUSY = ClusterBusyError("commit", reason="an election")
MOVED_ON = CommitFailedError(GroupId("g"), reason="illegal generation")


def at(**offsets: int) -> Offsets:
    """Return `at(p0=5)` as offsets of the two partitions."""
    partitions = {"p0": P0, "p1": P1}
    return {partitions[name]: Offset(offset) for name, offset in offsets.items()}


def test_a_record_counts_as_processed_when_the_next_is_asked_for() -> None:
    progress = Progress()
    progress.begin(P0, Offset(0))

    progress.hand_out(P0, Offset(0))
    before = progress.uncommitted()
    progress.settle()

    assert (before, progress.uncommitted(), progress.processed_count) == ({}, at(p0=1), 1)


def test_a_record_dropped_from_the_hand_is_not_processed() -> None:
    progress = Progress()
    progress.begin(P0, Offset(0))
    progress.hand_out(P0, Offset(0))
    progress.settle()
    progress.hand_out(P0, Offset(1))

    progress.drop_in_hand()
    progress.settle()

    assert progress.uncommitted() == at(p0=1)


def test_what_was_committed_is_not_committed_again() -> None:
    progress = Progress()
    progress.begin(P0, Offset(0))
    progress.hand_out(P0, Offset(0))
    progress.settle()

    progress.note_committed(at(p0=1))

    assert (progress.uncommitted(), progress.processed_count) == ({}, 0)


def test_markers_at_the_end_of_a_partition_are_passed_by() -> None:
    """Offsets 0 and 1 are records, 2 is a transaction marker, and 3 is the end."""
    progress = Progress()
    progress.begin(P0, Offset(0))
    progress.hand_out(P0, Offset(0))
    progress.hand_out(P0, Offset(1))
    progress.pass_by(P0, Offset(3))
    progress.settle()

    assert (progress.position(P0), progress.uncommitted()) == (3, at(p0=3))


def test_after_a_jump_everything_before_counts_as_processed() -> None:
    progress = Progress()
    progress.begin(P0, Offset(0))
    progress.hand_out(P0, Offset(0))

    progress.jump(P0, Offset(7))
    progress.settle()

    assert (progress.position(P0), progress.uncommitted()) == (7, at(p0=7))


def test_partitions_that_are_gone_are_forgotten_and_others_are_kept() -> None:
    progress = Progress()
    for partition in (P0, P1):
        progress.begin(partition, Offset(0))
        progress.hand_out(partition, Offset(0))
    progress.settle()

    progress.forget([P0])

    assert (progress.uncommitted(), progress.position(P0)) == (at(p1=1), None)


@pytest.mark.parametrize(
    ("policy", "seconds", "records", "due"),
    [
        (Automatic(every_seconds=10), 9.9, 1000, False),
        (Automatic(every_seconds=10), 10.0, 1, True),
        (EveryRecords(100), 1000.0, 99, False),
        (EveryRecords(100), 0.0, 100, True),
        (Manual(), 1000.0, 1000, False),
    ],
    ids=["early", "in time", "few", "enough", "manual"],
)
def test_a_commit_is_due_by_time_or_by_count(
    policy: CommitPolicy, seconds: float, records: int, *, due: bool
) -> None:
    now = [0.0]
    schedule = Schedule(policy, lambda: now[0])
    now[0] = seconds

    assert schedule.is_due(records) is due


def test_the_time_counts_from_the_last_commit() -> None:
    now = [0.0]
    schedule = Schedule(Automatic(every_seconds=10), lambda: now[0])
    now[0] = 10.0
    schedule.restart()
    now[0] = 19.9

    assert not schedule.is_due(1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_an_interval_must_be_positive(seconds: float) -> None:
    with pytest.raises(InvalidConsumerError) as caught:
        Automatic(every_seconds=seconds)
    assert "`Automatic`" in caught.value.hint


def test_a_count_must_be_positive() -> None:
    with pytest.raises(InvalidConsumerError):
        EveryRecords(0)


class Wire:
    """Keeps what was sent, and what the caller was told in the end."""

    def __init__(self) -> None:
        self.sent: list[Offsets] = []
        self.told: list[tuple[Offsets, ClusterError | None]] = []
        self.commits = AsyncCommits(self.sent.append)

    def tell(self, offsets: Offsets, fault: ClusterError | None) -> None:
        self.told.append((offsets, fault))


def test_a_commit_that_succeeds_is_sent_once() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10), wire.tell)
    wire.commits.answered(at(p0=10), None)
    wire.commits.repeat_failed()

    assert (wire.sent, wire.told) == ([at(p0=10)], [(at(p0=10), None)])


def test_the_last_commit_is_repeated_when_it_fails() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10), wire.tell)
    wire.commits.answered(at(p0=10), BUSY)
    wire.commits.repeat_failed()
    wire.commits.answered(at(p0=10), None)

    assert (wire.sent, wire.told) == ([at(p0=10), at(p0=10)], [(at(p0=10), None)])


def test_a_commit_is_not_repeated_after_a_later_one() -> None:
    """2000 is lost, 3000 succeeds; repeating 2000 would rewind the group."""
    wire = Wire()
    wire.commits.issue(at(p0=2000), wire.tell)
    wire.commits.issue(at(p0=3000), wire.tell)
    wire.commits.answered(at(p0=3000), None)
    wire.commits.answered(at(p0=2000), BUSY)
    wire.commits.repeat_failed()

    assert wire.sent == [at(p0=2000), at(p0=3000)]
    assert wire.told == [(at(p0=3000), None), (at(p0=2000), None)]


def test_a_later_commit_between_failure_and_repetition_counts_too() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=2000))
    wire.commits.answered(at(p0=2000), BUSY)
    wire.commits.issue(at(p0=3000))
    wire.commits.repeat_failed()

    assert wire.sent == [at(p0=2000), at(p0=3000)]


def test_only_partitions_without_a_later_commit_are_repeated() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10, p1=5))
    wire.commits.issue(at(p0=20))
    wire.commits.answered(at(p0=10, p1=5), BUSY)
    wire.commits.repeat_failed()

    assert wire.sent == [at(p0=10, p1=5), at(p0=20), at(p1=5)]


def test_a_synchronous_commit_supersedes_too() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10))
    wire.commits.supersede(at(p0=20))
    wire.commits.answered(at(p0=10), BUSY)
    wire.commits.repeat_failed()

    assert wire.sent == [at(p0=10)]


def test_a_failure_for_good_is_told_and_not_repeated() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10), wire.tell)
    wire.commits.answered(at(p0=10), MOVED_ON)
    wire.commits.repeat_failed()

    assert (wire.sent, wire.told) == ([at(p0=10)], [(at(p0=10), MOVED_ON)])


def test_nothing_is_repeated_for_partitions_that_are_gone() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10))
    wire.commits.forget([P0])
    wire.commits.answered(at(p0=10), BUSY)
    wire.commits.repeat_failed()

    assert wire.sent == [at(p0=10)]


def test_commits_without_an_answer_are_known_until_they_are_answered() -> None:
    wire = Wire()
    wire.commits.issue(at(p0=10, p1=5))
    wire.commits.issue(at(p0=20))
    before = wire.commits.unanswered([P0, P1])
    wire.commits.answered(at(p0=20), None)
    wire.commits.answered(at(p0=10, p1=5), BUSY)

    assert (before, wire.commits.unanswered([P0, P1])) == (at(p0=20, p1=5), at(p1=5))
