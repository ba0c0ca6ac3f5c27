"""Lag as arithmetic, and exported groups as files; the broker's part is in tests/integration."""

import json
from pathlib import Path

import pytest

from penstock.kafka import (
    CommittedOffset,
    GroupActiveError,
    GroupSnapshot,
    Member,
    PartitionLag,
    SnapshotFileError,
    TopicPartition,
    UnknownGroupError,
    load_snapshot,
    snapshot_text,
)
from penstock.kafka.groups.lag import total_lag
from penstock.names import GroupId, Offset, Partition, TopicName

ORDERS_0 = TopicPartition(TopicName("orders"), Partition(0))


def lag(committed: int | None, first: int | None, end: int | None) -> PartitionLag:
    return PartitionLag(
        partition=ORDERS_0,
        committed=None if committed is None else Offset(committed),
        first=None if first is None else Offset(first),
        end=None if end is None else Offset(end),
    )


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (lag(7, 0, 10), (3, 0, False)),
        (lag(10, 0, 10), (0, 0, False)),
        (lag(None, 0, 10), (None, 0, False)),
        (lag(2, 6, 10), (8, 4, False)),
        (lag(50, 0, 10), (0, 0, True)),
        (lag(7, None, None), (None, 0, False)),
    ],
    ids=["behind", "at the end", "no commit", "data deleted", "beyond the end", "topic gone"],
)
def test_lag_is_the_end_minus_the_commit(
    item: PartitionLag, expected: tuple[int | None, int, bool]
) -> None:
    assert (item.lag, item.expired, item.beyond_end) == expected


def test_total_lag_sums_what_is_known() -> None:
    known = [lag(7, 0, 10), lag(None, 0, 10), lag(4, 0, 5)]
    assert (total_lag(known), total_lag([lag(None, 0, 10)]), total_lag([])) == (4, None, None)


def member(client_id: str, host: str) -> Member:
    return Member(member_id="m", client_id=client_id, host=host, instance_id=None, partitions=())


def test_a_group_in_use_is_refused_with_the_clients_that_use_it() -> None:
    members = [member("web", "10.0.0.2"), member("web", "10.0.0.2"), member("batch", "10.0.0.1")]
    error = GroupActiveError(GroupId("app"), verb="reset", members=members)
    assert error.message == (
        "cannot reset group `app` while it has 3 members: `batch` on 10.0.0.1, `web` on 10.0.0.2"
    )


def test_a_member_that_joined_and_left_meanwhile_is_said_too() -> None:
    error = GroupActiveError(GroupId("app"), verb="delete", members=[])
    assert error.message == "cannot delete group `app`: a member has just joined"


def test_an_unknown_group_names_the_nearest() -> None:
    assert UnknownGroupError("ordres", known=["orders", "clicks"]).hint == "did you mean `orders`?"


SNAPSHOT = GroupSnapshot(
    group=GroupId("größe"),
    commits={
        TopicPartition(TopicName("orders"), Partition(1)): CommittedOffset(offset=Offset(7)),
        ORDERS_0: CommittedOffset(offset=Offset(3), leader_epoch=2, metadata='{"by": "ü"}'),
    },
)
TEXT = """{
  "version": 1,
  "group": "größe",
  "partitions": [
    {
      "topic": "orders",
      "partition": 0,
      "offset": 3,
      "leader_epoch": 2,
      "metadata": "{\\"by\\": \\"ü\\"}"
    },
    {
      "topic": "orders",
      "partition": 1,
      "offset": 7,
      "leader_epoch": null,
      "metadata": ""
    }
  ]
}
"""


def test_an_exported_group_is_sorted_json_and_reads_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "group.json"
    path.write_text(snapshot_text(SNAPSHOT), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == TEXT
    assert load_snapshot(path) == SNAPSHOT


def entry(**changes: object) -> dict[str, object]:
    return {"topic": "orders", "partition": 0, "offset": 1} | changes


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "input should be an object"),
        ({"group": "g", "partitions": [entry()]}, "`version`: field required"),
        ({"version": 2, "group": "g", "partitions": [entry()]}, "`version`: input should be 1"),
        (
            {"version": 1, "group": "g", "partitions": []},
            "`partitions`: list should have at least 1 item after validation, not 0",
        ),
        (
            {"version": 1, "group": "g", "partitions": [entry(offset=-1)]},
            "`partitions.0.offset`: input should be greater than or equal to 0",
        ),
        (
            {"version": 1, "group": "g", "partitions": [entry(offset="1")]},
            "`partitions.0.offset`: input should be a valid integer",
        ),
        (
            {"version": 1, "group": "g", "partitions": [entry(lag=1)]},
            "`partitions.0.lag`: extra inputs are not permitted",
        ),
        (
            {"version": 1, "group": "g", "partitions": [entry(), entry(offset=2)]},
            "a partition is in it more than once",
        ),
    ],
)
def test_a_file_that_is_not_an_exported_group_is_refused_with_the_reason(
    tmp_path: Path, document: object, reason: str
) -> None:
    path = tmp_path / "group.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(SnapshotFileError) as caught:
        load_snapshot(path)
    assert caught.value.message == f"`{path}` cannot be read as an exported group: {reason}"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff"])
def test_a_file_that_is_not_json_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "group.json"
    path.write_bytes(content)
    with pytest.raises(SnapshotFileError):
        load_snapshot(path)


def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotFileError) as caught:
        load_snapshot(tmp_path)
    assert caught.value.message == (
        f"`{tmp_path}` cannot be read as an exported group: Is a directory"
    )
