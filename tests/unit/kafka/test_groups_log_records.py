"""Decoding what brokers keep of groups: the bytes are put together here as the coordinator does."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kafka import GroupType, LoggedCommit, TopicPartition
from penstock.kafka.groups.log_records import (
    CommitKey,
    GroupKey,
    MemberKey,
    ShareKey,
    decoded_commit,
    decoded_key,
    decoded_member_count,
    decoded_share_key,
    decoded_share_start,
)
from penstock.names import GroupId, Offset, Partition, TopicName


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def compact(value: str | None) -> bytes:
    if value is None:
        return b"\x00"
    data = value.encode()
    length, encoded = len(data) + 1, b""
    while length > 0x7F:
        encoded += bytes([length & 0x7F | 0x80])
        length >>= 7
    return encoded + bytes([length]) + data


@given(group=st.text(max_size=30), topic=st.text(max_size=30), partition=st.integers(0, 2**31 - 1))
def test_a_commits_key_names_group_topic_and_partition(
    group: str, topic: str, partition: int
) -> None:
    data = struct.pack(">h", 1) + text(group) + text(topic) + struct.pack(">i", partition)
    item = TopicPartition(TopicName(topic), Partition(partition))
    assert decoded_key(data) == CommitKey(GroupId(group), item)


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (2, GroupType.CLASSIC),
        (3, GroupType.CONSUMER),
        (11, GroupType.SHARE),
        (17, GroupType.STREAMS),
    ],
)
def test_the_key_of_a_group_tells_its_protocol(kind: int, type_: GroupType) -> None:
    assert decoded_key(struct.pack(">h", kind) + text("g")) == GroupKey(GroupId("g"), type_)


def test_the_key_of_a_member_names_group_and_member() -> None:
    data = struct.pack(">h", 5) + text("g") + text("m-1")
    assert decoded_key(data) == MemberKey(GroupId("g"), GroupType.CONSUMER, "m-1")


@given(st.binary(max_size=40))
def test_bytes_of_another_kind_are_passed_over(data: bytes) -> None:
    key = decoded_key(data)
    assert key is None or key.group is not None
    decoded_commit(data)
    decoded_member_count(data)


@given(offset=st.integers(0, 2**62), metadata=st.text(max_size=200))
def test_a_commit_of_every_version_tells_offset_and_time(offset: int, metadata: str) -> None:
    start, end = struct.pack(">q", offset), struct.pack(">q", 1_700_000_000_500)
    versions = {
        0: start + text(metadata) + end,
        1: start + text(metadata) + end + struct.pack(">q", -1),
        2: start + text(metadata) + end,
        3: start + struct.pack(">i", 7) + text(metadata) + end,
        4: start + struct.pack(">i", 7) + compact(metadata) + end + b"\x00",
    }
    wanted = LoggedCommit(Offset(offset), 1_700_000_000.5)
    found = {
        version: decoded_commit(struct.pack(">h", version) + data)
        for version, data in versions.items()
    }
    assert found == dict.fromkeys(versions, wanted)


def test_the_members_of_a_classic_group_are_counted_in_every_version() -> None:
    generation, since, three = struct.pack(">i", 9), struct.pack(">q", 1), struct.pack(">i", 3)
    null = struct.pack(">h", -1)
    old = text("consumer") + generation + text("range") + null
    values = {
        0: old + three,
        1: old + three,
        2: old + since + three,
        3: old + since + three,
        4: compact("consumer") + generation + compact("range") + compact(None) + since + b"\x04",
    }
    counts = [
        decoded_member_count(struct.pack(">h", version) + value)
        for version, value in values.items()
    ]
    assert counts == [3, 3, 3, 3, 3]


@pytest.mark.parametrize(("kind", "epochs", "start"), [(0, 3, 7), (1, 2, 9), (1, 2, -1)])
def test_the_position_of_a_share_group_is_the_start_of_its_records(
    kind: int, epochs: int, start: int
) -> None:
    topic_id = bytes(range(16))
    key = struct.pack(">h", kind) + text("g") + topic_id + struct.pack(">i", 4)
    value = struct.pack(">h", 0) + struct.pack(">i", 1) * epochs + struct.pack(">q", start)
    assert decoded_share_key(key) == ShareKey(GroupId("g"), topic_id, Partition(4))
    assert decoded_share_start(key, value) == (start if start >= 0 else None)
