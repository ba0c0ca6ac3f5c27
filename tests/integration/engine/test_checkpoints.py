"""Files of checkpoints on a file system of Hadoop, and what is read from and written to them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from penstock.engine.certificates import (
    BirthCertificate,
    CertificateFile,
    SourceNameReusedError,
    ensure_names_are_new,
)
from penstock.engine.checkpoints import CheckpointFolder, DamagedCheckpointError
from penstock.engine.quarantine import Mark, MarkFile
from penstock.engine.storage import Storage, StorageRefusedError
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, FlowName, Offset, Partition, PipelineName, TopicName
from support.declared import ORIGIN
from support.pipeline_events import NOON

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

LINES, FILES = DatasetName("lines"), DatasetName("files")
ZERO = TopicPartition(TopicName("shop.lines"), Partition(0))
ONE = TopicPartition(TopicName("shop.lines"), Partition(1))


@pytest.fixture
def storage(spark: SparkSession, tmp_path: Path) -> Storage:
    return Storage(spark, str(tmp_path))


def plan(*sources: str, conf: dict[str, str] | None = None) -> str:
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": conf or {"a": "b"}}
    return "\n".join(("v2", json.dumps(metadata), *sources))


def certificate(*sources: str) -> BirthCertificate:
    return BirthCertificate(
        pipeline=PipelineName("shop"),
        flow=FlowName("flow"),
        created=NOON,
        spark_version="4.2.0",
        conf={"spark.sql.shuffle.partitions": "3"},
        sources=frozenset(DatasetName(name) for name in sources),
        topic_ids={TopicName("shop.lines"): "abc"},
    )


def test_a_file_is_replaced_as_a_whole_and_deleted_with_its_checksum(
    storage: Storage, tmp_path: Path
) -> None:
    storage.write_text("a/b.json", "old")
    storage.write_text("a/b.json", "über")
    assert storage.read_text("a/b.json") == "über"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [".b.json.crc", "b.json"]
    assert storage.names("a") == ("b.json",)
    storage.delete("a/b.json")
    storage.delete("a/b.json")
    assert list((tmp_path / "a").iterdir()) == []


def test_a_file_that_is_to_be_new_is_written_by_the_first_alone(
    storage: Storage, tmp_path: Path
) -> None:
    assert storage.create_text("a/complete", "first")
    assert not storage.create_text("a/complete", "second")
    assert storage.read_text("a/complete") == "first"
    (tmp_path / "file").touch()
    with pytest.raises(StorageRefusedError):
        storage.create_text("file/x", "y")


def test_what_is_absent_is_none_and_empty(storage: Storage) -> None:
    assert storage.read_text("nothing") is None
    assert storage.names("nothing") == ()
    assert not storage.exists("nothing")


def test_a_place_that_cannot_be_a_folder_is_refused(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageRefusedError) as refused:
        storage.write_text("file/x", "y")
    assert refused.value.path == storage.path("file/x")


def test_a_file_system_that_nobody_knows_is_refused(spark: SparkSession) -> None:
    with pytest.raises(StorageRefusedError):
        Storage(spark, "nosuch://bucket/x")


def test_plans_tell_offsets_by_source(storage: Storage) -> None:
    storage.write_text("flow/offsets/0", plan('lines:{"shop.lines":{"0":4,"1":7}}', "files:-"))
    storage.write_text("flow/sources/lines/0", '\0v1\n{"shop.lines":{"0":1,"1":2}}')
    checkpoint = CheckpointFolder(storage, "flow")
    assert checkpoint.plan(0).offsets(LINES) == {ZERO: 4, ONE: 7}
    assert checkpoint.plan(0).conf == {"a": "b"}
    assert checkpoint.start_offsets(0, LINES) == {ZERO: 1, ONE: 2}
    assert (checkpoint.last_planned(), checkpoint.last_committed()) == (0, None)


def test_one_source_is_moved_and_the_others_stay(storage: Storage) -> None:
    storage.write_text("flow/offsets/0", plan('lines:{"shop.lines":{"0":4}}', 'x:{"y":{"0":1}}'))
    checkpoint = CheckpointFolder(storage, "flow")
    checkpoint.rewrite_offsets(0, LINES, {ZERO: Offset(9)})
    assert storage.read_text("flow/offsets/0") == plan(
        'lines:{"shop.lines":{"0":9}}', 'x:{"y":{"0":1}}'
    )


def test_a_setting_is_noted_in_the_plans_that_lack_it(storage: Storage) -> None:
    for batch_id, conf in enumerate(({}, {"a": "b"}, {"n": "5"})):
        storage.write_text(f"flow/offsets/{batch_id}", plan(conf=conf))
    checkpoint = CheckpointFolder(storage, "flow")
    checkpoint.note_conf("n", "3")
    assert [checkpoint.plan(n).conf.get("n") for n in range(3)] == [None, "3", "5"]


def test_files_of_a_batch_are_found_in_their_entry_or_in_a_compaction(storage: Storage) -> None:
    def entry(name: str, *files: tuple[str, int]) -> None:
        lines = [json.dumps({"path": p, "timestamp": 1, "batchId": n}) for p, n in files]
        storage.write_text(f"flow/sources/files/{name}", "\n".join(("v1", *lines)))

    entry("2.compact", ("file:/a", 0), ("file:/b", 1), ("file:/c", 2))
    entry("3", ("file:/d", 3))
    for batch_id, end in enumerate((0, 2, 3)):
        storage.write_text(f"flow/offsets/{batch_id}", plan(f'files:{{"logOffset":{end}}}'))
    checkpoint = CheckpointFolder(storage, "flow")
    seen = [checkpoint.files_seen(FILES, batch_id) for batch_id in range(3)]
    assert seen == [("file:/a",), ("file:/b", "file:/c"), ("file:/d",)]


def test_an_uncommitted_plan_that_is_damaged_may_be_deleted(storage: Storage) -> None:
    storage.write_text("flow/metadata", '{"id":"8f4f"}')
    storage.write_text("flow/offsets/0", "")
    with pytest.raises(DamagedCheckpointError) as damaged:
        CheckpointFolder(storage, "flow").check()
    assert "offsets/.0.crc" in damaged.value.hint


def test_commits_without_plans_are_damage(storage: Storage) -> None:
    storage.write_text("flow/metadata", '{"id":"8f4f"}')
    storage.write_text("flow/commits/3", 'v1\n{"nextBatchWatermarkMs":0}')
    with pytest.raises(DamagedCheckpointError) as damaged:
        CheckpointFolder(storage, "flow").check()
    assert damaged.value.path == storage.path("flow/offsets/3")


def test_a_certificate_is_read_as_it_was_written(storage: Storage) -> None:
    file = CertificateFile(storage, "flow.birth.json")
    assert file.load() is None
    file.save(certificate("lines"))
    assert file.load() == certificate("lines")
    storage.write_text("flow.birth.json", '{"pipeline": 3}')
    with pytest.raises(DamagedCheckpointError):
        file.load()


def test_only_a_name_that_was_planned_and_then_missing_is_refused(storage: Storage) -> None:
    """A source that was added in vain, or removed in vain, has no past to fear."""
    storage.write_text("flow/offsets/4", plan('lines:{"shop.lines":{"0":9}}'))
    checkpoint = CheckpointFolder(storage, "flow")
    kept = ensure_names_are_new(certificate(), checkpoint, {LINES: ORIGIN, FILES: ORIGIN})
    assert kept.sources == {LINES}
    ensure_names_are_new(certificate("lines"), checkpoint, {LINES: ORIGIN})
    with pytest.raises(SourceNameReusedError):
        ensure_names_are_new(certificate("files"), checkpoint, {FILES: ORIGIN})


def test_a_mark_of_another_query_or_a_damaged_one_counts_as_none(storage: Storage) -> None:
    file = MarkFile(storage, "flow.deadletters.json")
    mark = Mark(query_id="8f4f", batch_id=3, offsets={LINES: {ZERO: Offset(4)}})
    file.save(mark)
    assert (file.load("8f4f"), file.load("other")) == (mark, None)
    file.move("8f4f", LINES, lambda offsets: {item: Offset(n + 1) for item, n in offsets.items()})
    moved = file.load("8f4f")
    assert moved is not None
    assert moved.offsets == {LINES: {ZERO: 5}}
    storage.write_text("flow.deadletters.json", "{")
    assert file.load("8f4f") is None
