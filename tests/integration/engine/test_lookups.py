"""Versions of reference data: copied, pinned, and noticed when they change."""

import json
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.engine.kafka_options import kafka_options
from penstock.engine.lookups import LookupNotLoadedError, Lookups
from penstock.engine.storage import Storage
from penstock.engine.tables import TableLocations
from penstock.kafka import Connection, Producer
from penstock.local.cluster import KafkaCluster
from penstock.names import DatasetName, PipelineName
from penstock.pipeline import Lookup, Pipeline, collecting
from support.contracts import contracts_at

OCTETS = DatasetName("octets")


def declared(folder: Path, declare: Callable[[], None]) -> Pipeline:
    """Return a pipeline whose flow `out` reads the lookup `octets`."""
    with collecting() as collected:
        ps.rate("ticks")
        ps.table("result")
        declare()

        @ps.flow(into="result")
        def out(ticks: object, octets: object) -> object:
            return ticks, octets

    assert collected.problems == []
    return Pipeline(
        name=PipelineName("lookups"),
        folder=folder,
        datasets=tuple(collected.datasets),
        flows=tuple(collected.flows),
    )


class Bench:
    """One pipeline with one lookup, and where its copies are."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, connection: Connection) -> None:
        self.spark, self.pipeline = spark, pipeline
        self.flow = pipeline.flows[0]
        self.storage = Storage(spark, str(pipeline.folder / "root"))
        self.lookups = Lookups(
            spark,
            pipeline,
            storage=self.storage,
            connection=connection,
            kafka=kafka_options(connection),
            tables=TableLocations(
                warehouse=str(pipeline.folder / "tables"), project=pipeline.folder
            ),
            contracts=contracts_at(spark, pipeline.folder),
        )

    def rows(self, version: str) -> list[tuple[object, ...]]:
        """Return the rows of a version, in order."""
        lookup = self.pipeline.dataset(OCTETS)
        assert isinstance(lookup, Lookup)
        return sorted(
            tuple(row) for row in self.lookups.frame(lookup, version, self.spark).collect()
        )


@pytest.fixture
def octets_file(tmp_path: Path) -> Path:
    path = tmp_path / "octets.csv"
    path.write_text("octet\n10\n11\n")
    return path


@pytest.fixture
def bench(spark: SparkSession, connection: Connection, octets_file: Path) -> Bench:
    source = ps.csv_file(octets_file.name, "octet int", header=True)
    return Bench(
        spark, declared(octets_file.parent, lambda: _declare("octets", source)), connection
    )


def _declare(name: str, source: object) -> None:
    ps.lookup(name, source)  # type: ignore[arg-type]  # each test gives one of the kinds


def replace(path: Path, text: str) -> None:
    """Replace a file in one step, as users should."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def test_a_changed_file_is_noticed_and_the_old_version_stays_readable(
    bench: Bench, octets_file: Path
) -> None:
    first = bench.lookups.choose(bench.flow, replaying=False)
    unchanged = bench.lookups.changes(first)
    replace(octets_file, "octet\n10\n11\n12\n")
    (change,) = bench.lookups.changes(first)
    second = bench.lookups.choose(bench.flow, replaying=False)

    assert unchanged == []
    assert (change.lookup, change.old_version) == (OCTETS, first[OCTETS])
    assert change.new_version == second[OCTETS]
    assert bench.rows(first[OCTETS]) == [(10,), (11,)]
    assert bench.rows(second[OCTETS]) == [(10,), (11,), (12,)]


def test_reference_data_may_have_no_rows_whatever_its_columns(
    spark: SparkSession, connection: Connection, tmp_path: Path
) -> None:
    (tmp_path / "octets.jsonl").touch()
    source = ps.json_file("octets.jsonl", "octet int, since timestamp, names array<string>")
    bench = Bench(spark, declared(tmp_path, lambda: _declare("octets", source)), connection)

    version = bench.lookups.choose(bench.flow, replaying=False)[OCTETS]

    assert bench.rows(version) == []


def test_a_batch_that_is_run_again_sees_the_version_it_saw_before(
    bench: Bench, octets_file: Path
) -> None:
    """The flow planned a batch, the file changed, the driver died before the batch was done."""
    first = bench.lookups.choose(bench.flow, replaying=False)
    replace(octets_file, "octet\n99\n")

    again = bench.lookups.choose(bench.flow, replaying=True)

    assert again == first
    assert bench.rows(again[OCTETS]) == [(10,), (11,)]
    written = bench.storage.read_text("out.lookups.json")
    assert written is not None
    assert json.loads(written) == first


@pytest.mark.parametrize(
    ("content", "reason"), [(None, "there is no such file"), ("octet\nten\n", "ten")]
)
def test_a_lookup_that_cannot_be_read_is_refused_at_the_declaration(
    bench: Bench, octets_file: Path, content: str | None, reason: str
) -> None:
    if content is None:
        octets_file.unlink()
    else:
        replace(octets_file, content)

    with pytest.raises(LookupNotLoadedError) as caught:
        bench.lookups.choose(bench.flow, replaying=False)

    assert reason in caught.value.message
    assert caught.value.origin is not None


def test_of_a_compacted_topic_the_last_value_of_each_key_counts(
    spark: SparkSession, kafka: KafkaCluster, connection: Connection, tmp_path: Path
) -> None:
    """Key 2 is deleted by a tombstone, a broken value is passed over."""
    name = kafka.create_topic(f"networks-{uuid4().hex}", config={"cleanup.policy": "compact"})

    def declare() -> None:
        ps.topic(
            "networks",
            value=ps.json("octet int, name string"),
            key="octet",
            compacted=True,
            kafka_name=name,
        )
        ps.lookup("octets", "networks")

    bench = Bench(spark, declared(tmp_path, declare), connection)
    with Producer(connection) as producer:
        producer.send(name, b'{"octet":1,"name":"old"}', key="1")
        producer.send(name, b'{"octet":2,"name":"gone"}', key="2")
        producer.send(name, b'{"octet":1,"name":"new"}', key="1")
        producer.send(name, None, key="2")
    first = bench.lookups.choose(bench.flow, replaying=False)
    with Producer(connection) as producer:
        producer.send(name, b'{"octet":3,"name":"third"}', key="3")
    second = bench.lookups.choose(bench.flow, replaying=False)

    assert bench.rows(first[OCTETS]) == [(1, "new")]
    assert bench.rows(second[OCTETS]) == [(1, "new"), (3, "third")]


def test_a_delta_table_has_a_new_version_after_each_write(
    spark: SparkSession, connection: Connection, tmp_path: Path
) -> None:
    def declare() -> None:
        ps.table("networks", schema="octet int")
        ps.lookup("octets", "networks")

    bench = Bench(spark, declared(tmp_path, declare), connection)
    path = str(tmp_path / "tables" / "networks")
    spark.sql("SELECT 10 AS octet").write.format("delta").save(path)
    first = bench.lookups.choose(bench.flow, replaying=False)
    spark.sql("SELECT 11 AS octet").write.format("delta").mode("append").save(path)
    second = bench.lookups.choose(bench.flow, replaying=False)

    assert first == {OCTETS: "v0"}
    assert second == {OCTETS: "v1"}
    assert bench.rows("v1") == [(10,), (11,)]
