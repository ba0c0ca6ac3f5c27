"""Declarative pipelines that between them use every verb and option of `pyspark.pipelines`.

All but one are run by Spark's own runner and by Penstock, and must give the same tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EVENTS = "".join(
    json.dumps({"id": n, "kind": "abc"[n % 3], "amount": n * 10, "at": f"2026-05-0{n % 9 + 1}"})
    + "\n"
    for n in range(1, 21)
)
_MORE = '{"id": 100, "kind": "b", "amount": 7, "at": "2026-05-03"}\n'
_KINDS = '{"kind": "a", "label": "first"}\n{"kind": "b", "label": "second"}\n'


@dataclass(frozen=True)
class DeclarativeProject:
    """The files of a project and the tables to compare."""

    name: str
    tables: tuple[str, ...]
    files: Mapping[str, str]
    spec: str = ""
    needs_delta: bool = False
    folders: tuple[str, ...] = ()
    """Output of sinks: JSON files, compared too."""
    data: Mapping[str, str] = field(
        default_factory=lambda: {"data/events/1.json": _EVENTS, "data/events/2.json": _MORE}
    )

    def write(self, folder: Path) -> None:
        """Write the project into `folder`."""
        for name, text in {**self.data, **self.files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text), encoding="utf-8")
        (folder / "spark-pipeline.yml").write_text(
            f"name: {self.name}\nstorage: file://{folder}/storage\n"
            "libraries:\n  - glob:\n      include: transformations/**\n" + dedent(self.spec),
            encoding="utf-8",
        )


_READ = """
    from pyspark import pipelines as dp
    from pyspark.sql import functions as F
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    SCHEMA = "id bigint, kind string, amount bigint, at date"
"""

OPTIONS = DeclarativeProject(
    name="options",
    tables=("events", "by_day", "plain", "typed", "totals", "top"),
    files={
        "transformations/tables.py": _READ
        + """
    @dp.table(
        name="events", comment="All of them.", table_properties={"team": "shop"},
        spark_conf={"spark.sql.session.timeZone": "UTC"}, schema=SCHEMA,
    )
    def read_events():
        return spark.readStream.schema(SCHEMA).json("data/events")

    @dp.table(partition_cols=["at"])
    def by_day():
        return spark.readStream.table("events").where("amount > 20")

    @dp.table(format="parquet")
    def plain():
        return spark.readStream.table("events").select("id", "kind")

    @dp.table(schema=StructType([
        StructField("id", LongType()), StructField("word", StringType())]))
    def typed():
        return spark.readStream.table("plain").selectExpr("id", "upper(kind) AS word")

    @dp.materialized_view(
        name="totals", comment="Per kind.", table_properties={"penstock.refresh": "1 second"},
        spark_conf={"spark.sql.shuffle.partitions": "2"}, partition_cols=["kind"],
        schema="total bigint, kind string",
    )
    def sum_up():
        return spark.read.table("events").groupBy("kind").agg(F.sum("amount").alias("total"))

    @dp.materialized_view(table_properties={"penstock.refresh": "1 second"})
    def top():
        return spark.table("totals").orderBy(F.desc("total")).limit(1)
"""
    },
)

APPENDING = DeclarativeProject(
    name="appending",
    tables=("everything",),
    files={
        "transformations/append.py": _READ
        + """
    dp.create_streaming_table(
        "everything", comment="From everywhere.", table_properties={"team": "shop"},
        schema="id bigint, source string", format="parquet", cluster_by=["id"],
    )

    @dp.append_flow(target="everything")
    def all_events():
        return spark.readStream.schema(SCHEMA).json("data/events").select(
            "id", F.lit("events").alias("source"))
"""
    },
)

COLUMNS = DeclarativeProject(
    name="columns",
    tables=("wide", "counted"),
    needs_delta=True,  # Spark's own tables lose rows of several flows: `format` makes them Delta
    files={
        "transformations/append.py": _READ
        + """
    dp.create_streaming_table("wide", format="delta")

    for kind in ("a", "b", "c"):
        @dp.append_flow(
            target="wide", name=f"only_{kind}",
            spark_conf={"spark.sql.shuffle.partitions": "2"})
        def flow(kind=kind):
            rows = spark.readStream.schema(SCHEMA).json("data/events").where(F.col("kind") == kind)
            return rows.select("id", F.lit(kind).alias("kind"), F.col("amount").alias(f"of_{kind}"))
""",
        "transformations/count.sql": """
    CREATE MATERIALIZED VIEW counted USING delta TBLPROPERTIES ('penstock.refresh' = '1 second')
      AS SELECT kind, count(*) AS n, sum(of_a) AS a FROM wide GROUP BY kind
""",
    },
)

VIEWS = DeclarativeProject(
    name="views",
    tables=("labelled", "unlabelled", "days"),
    data={
        "data/events/1.json": _EVENTS,
        "data/events/2.json": _MORE,
        "data/kinds/k.json": _KINDS,
    },
    files={
        "transformations/views.py": _READ
        + """
    from pyspark.sql import SparkSession

    session = SparkSession.active()

    @dp.temporary_view(name="kinds", comment="What kinds are called.")
    def read_kinds():
        return session.read.schema("kind string, label string").json("data/kinds")

    @dp.temporary_view(spark_conf={"spark.sql.shuffle.partitions": "2"})
    def events():
        return spark.readStream.schema(SCHEMA).json("data/events")

    @dp.table
    def labelled():
        return spark.readStream.table("events").join(spark.read.table("kinds"), "kind")

    @dp.table
    def unlabelled():
        events, kinds = spark.readStream.table("events"), spark.table("kinds")
        return events.join(kinds, "kind", "left_anti")

    @dp.materialized_view(table_properties={"penstock.refresh": "1 second"})
    def days():
        return spark.sql("FROM labelled |> AGGREGATE count(*) AS n GROUP BY at |> WHERE n > 1")
"""
    },
)

SQL = DeclarativeProject(
    name="sql",
    tables=("even", "odd_ones", "all_of_them", "limits"),
    files={
        "transformations/source.py": _READ
        + """
    @dp.table
    def events():
        return spark.readStream.schema(SCHEMA).json("data/events")
""",
        "transformations/deep/tables.sql": """
    -- streaming tables with and without a query
    CREATE STREAMING TABLE even (id BIGINT COMMENT 'a number', kind STRING)
      PARTITIONED BY (kind) COMMENT 'Even ones.' TBLPROPERTIES ('team' = 'shop')
      AS SELECT id, kind FROM STREAM events WHERE id % 2 = 0;

    CREATE TEMPORARY VIEW odd AS SELECT * FROM STREAM(events) WHERE id % 2 = 1;
    CREATE STREAMING TABLE odd_ones;
    CREATE FLOW odd_flow AS INSERT INTO odd_ones BY NAME SELECT kind, id FROM STREAM odd;
""",
        "transformations/views.sql": """
    SET shop.least = 100;
    CREATE MATERIALIZED VIEW all_of_them
      TBLPROPERTIES ('penstock.refresh' = '1 second')
      AS SELECT id, kind FROM even UNION ALL SELECT id, kind FROM odd_ones;
    /* only some; of them */
    CREATE MATERIALIZED VIEW limits TBLPROPERTIES ('penstock.refresh' = '1 second') AS
      WITH some AS (SELECT * FROM events WHERE amount > 100)
      SELECT kind, max(amount) AS most FROM some
      WHERE id IN (SELECT id FROM all_of_them) GROUP BY kind
""",
    },
)

SCHEMA = DeclarativeProject(
    name="in a schema",
    tables=("first", "second", "third"),
    # The one schema that Spark's runner finds: it creates none, and its catalog forgets them.
    spec="""
    catalog: spark_catalog
    database: default
    configuration:
      spark.sql.shuffle.partitions: "3"
      shop.least: '50'
      penstock.refresh: "1 second"
    """,
    files={
        "transformations/a.py": _READ
        + """
    @dp.table
    def first():
        least = int(spark.conf.get("shop.least"))
        return spark.readStream.schema(SCHEMA).json("data/events").where(F.col("amount") > least)

    @dp.table
    def second():
        return spark.readStream.table("default.first").select("id")

    @dp.materialized_view
    def third():
        return spark.read.table("spark_catalog.default.second").agg(F.max("id").alias("last"))
"""
    },
)

SINKS = DeclarativeProject(
    name="sinks",
    tables=("events",),
    folders=("out",),
    files={
        "transformations/sink.py": _READ
        + """
    import os

    dp.create_sink("files", "json", {"path": os.path.abspath("out")})
    dp.create_sink(name="nothing", format="noop")

    @dp.table
    def events():
        return spark.readStream.schema(SCHEMA).json("data/events")

    @dp.append_flow(target="files")
    def write_files():
        return spark.readStream.table("events").select("id", "kind")

    @dp.append_flow(target="nothing")
    def write_nothing():
        return spark.readStream.table("events")
"""
    },
)

CHANGES = DeclarativeProject(
    name="changes",
    tables=("people", "some"),
    needs_delta=True,
    data={
        "data/changes/1.json": '{"id": 1, "name": "b", "v": 2, "op": "u"}\n'
        '{"id": 1, "name": "a", "v": 1, "op": "u"}\n'
        '{"id": 2, "name": "x", "v": 1, "op": "u"}\n'
        '{"id": 3, "name": "y", "v": 1, "op": "u"}\n',
        "data/changes/2.json": '{"id": 1, "name": "late", "v": 1, "op": "u"}\n'
        '{"id": 2, "name": null, "v": 5, "op": "d"}\n'
        '{"id": 3, "name": "z", "v": 2, "op": "u"}\n',
        "data/changes/3.json": '{"id": 2, "name": "too late", "v": 4, "op": "u"}\n'
        '{"id": 4, "name": "gone", "v": 1, "op": "d"}\n',
    },
    files={
        "transformations/cdc.py": """
    from pyspark import pipelines as dp

    @dp.temporary_view
    def changes():
        return (
            spark.readStream.schema("id bigint, name string, v int, op string")
            .option("maxFilesPerTrigger", 1).json("data/changes"))

    dp.create_streaming_table("people", format="delta")
    dp.create_auto_cdc_flow(
        target="people", source="changes", keys=["id"], sequence_by="v",
        apply_as_deletes="op = 'd'", except_column_list=["op", "v"], stored_as_scd_type=1)

    dp.create_streaming_table("some", format="delta")
    dp.create_auto_cdc_flow(
        "some", "changes", ["id"], "v", column_list=["id", "v"], name="some_of_it")
"""
    },
)

PROJECTS = (OPTIONS, APPENDING, COLUMNS, VIEWS, SQL, SCHEMA, SINKS)
"""What Spark's own runner can run. It merges changes into no format that is at hand: Delta's tables
"do not support row-level operations" to it, so `CHANGES` is compared with rows stated by hand."""
