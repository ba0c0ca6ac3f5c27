"""SQL files of declarative pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.pipeline import MaterializedView, Table

if TYPE_CHECKING:
    from support.declarative import DeclarativeLab

SOURCE = """
    from pyspark import pipelines as dp

    @dp.table
    def numbers():
        return spark.readStream.schema("id bigint, word string").json("{data}")
"""
STATEMENTS = """\
    -- what is even
    CREATE STREAMING TABLE even
      (id BIGINT COMMENT 'the number', word STRING)
      PARTITIONED BY (word)
      COMMENT 'Every second one.'
      TBLPROPERTIES ('team' = 'us')
      AS SELECT id, word FROM STREAM numbers WHERE id % 2 = 0;

    CREATE TEMPORARY VIEW odd AS SELECT * FROM STREAM(numbers) WHERE id % 2 = 1;

    CREATE STREAMING TABLE all_again;
    CREATE FLOW evens AS INSERT INTO all_again BY NAME SELECT * FROM STREAM even;
    CREATE FLOW odds AS INSERT INTO all_again BY NAME SELECT upper(word) AS word, id FROM odd;

    /* a total;
       with a semicolon in its comment */
    SET spark.sql.shuffle.partitions = 2;
    CREATE MATERIALIZED VIEW many AS
      WITH counted AS (SELECT word, count(*) AS n FROM numbers GROUP BY word)
      SELECT word, n FROM counted WHERE n >= 2 AND word IN (SELECT word FROM even)
"""


def _numbers(project: DeclarativeLab, statements: str) -> None:
    lines = "".join(f'{{"id": {n}, "word": "{"xyz"[n % 3]}"}}\n' for n in range(1, 6))
    project.write(
        {
            "data/1.json": lines,
            "transformations/a.sql": statements,
            "transformations/source.py": SOURCE.replace("{data}", str(project.folder / "data")),
        }
    )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_every_statement_declares_what_it_does_in_spark(project: DeclarativeLab) -> None:
    _numbers(project, STATEMENTS)

    pipeline = project.run_once()

    assert project.rows(pipeline, "even") == [(2, "z"), (4, "y")]
    assert project.rows(pipeline, "all_again") == [
        (1, "Y"),
        (2, "z"),
        (3, "X"),
        (4, "y"),
        (5, "Z"),
    ]
    assert project.rows(pipeline, "many") == [("y", 2), ("z", 2)]
    even = pipeline.dataset(pipeline.flow("even").targets[""])
    assert isinstance(even, Table)
    assert (even.description, even.partition_by, even.properties, even.origin.line) == (
        "Every second one.",
        ("word",),
        {"team": "us"},
        2,
    )
    many = pipeline.flow("many")
    assert isinstance(pipeline.dataset(many.targets[""]), MaterializedView)
    assert (many.consults, many.origin.line) == (("numbers", "even"), 18)


def test_what_a_statement_cannot_be_is_told_with_its_line(project: DeclarativeLab) -> None:
    _numbers(
        project,
        """\
        CREATE MATERIALIZED VIEW fine AS SELECT 1 AS one;

        CREATE TABLE plain (id INT);
        """,
    )
    project.write({"transformations/b.sql": "\n\nCREATE MATERIALIZED VIEW x AS SELEC 1"})
    project.write({"transformations/c.sql": "CREATE VIEW kept AS SELECT 1 AS one"})
    project.write(
        {"transformations/d.sql": "CREATE MATERIALIZED VIEW y AS SELECT nope FROM numbers"}
    )

    found = project.problems()

    assert [(code, file, line) for code, _, file, line in found] == [
        ("PEN-371", "a.sql", 3),
        ("PEN-371", "b.sql", 3),
        ("PEN-370", "c.sql", 1),
        ("PEN-320", "d.sql", 1),
    ]
    assert "`CREATE TABLE plain …` declares no table, view or flow" in found[0][1]
    assert "there is no column `nope`" in found[3][1]
