import pytest

from penstock.kafka.partitioning import (
    HotKeyPartitioner,
    KeyRequiredError,
    TooFewPartitionsError,
    murmur2,
    partition_for_key,
)

# Printed by `Utils.toPositive(Utils.murmur2(key))` of Java's kafka-clients 4.3.1.
JAVA_HASHES = {
    b"": 275646681,
    b"a": 584102524,
    b"ab": 316155434,
    b"abc": 479470107,
    b"abcd": 823834100,
    b"21": 1173551340,
    b"foobar": 1357151166,
    b"a-little-bit-long-string": 1161502112,
    b"a-little-bit-longer-string": 661178819,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": 2088585677,
    b"Banana": 2054419813,
    "großer Schlüssel".encode(): 1658289148,
    b"\x00\xff\x80\x7f\xfe": 1617215701,
    b"\xff\xff\xff": 1548199422,
}


def test_the_hash_of_a_key_is_that_of_the_java_client() -> None:
    assert {key: murmur2(key) for key in JAVA_HASHES} == JAVA_HASHES


def test_the_partition_is_the_hash_modulo_the_partition_count() -> None:
    partitions = [partition_for_key(key, 7) for key in JAVA_HASHES]

    assert partitions == [2, 5, 0, 4, 5, 3, 0, 1, 0, 3, 5, 5, 3, 0]


def test_the_hot_key_is_alone_on_the_last_partition() -> None:
    partitioner = HotKeyPartitioner(["Banana"])
    others = [f"customer-{number}".encode() for number in range(500)]

    assert partitioner(b"Banana", 4) == 3
    assert {partitioner(key, 4) for key in others} == {0, 1, 2}
    assert [partitioner(key, 4) for key in others] == [partition_for_key(key, 3) for key in others]


def test_a_single_hot_key_may_be_given_without_a_list() -> None:
    assert HotKeyPartitioner("Banana") == HotKeyPartitioner([b"Banana"])


def test_a_record_without_a_key_is_refused_by_the_hot_key_partitioner() -> None:
    with pytest.raises(KeyRequiredError):
        HotKeyPartitioner(["Banana"])(None, 4)


def test_the_hot_key_partitioner_needs_a_second_partition() -> None:
    with pytest.raises(TooFewPartitionsError):
        HotKeyPartitioner(["Banana"])(b"Apple", 1)
