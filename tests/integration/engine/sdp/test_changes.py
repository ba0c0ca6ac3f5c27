"""Auto CDC: a stream of changes becomes the newest row of each key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.declarative import DeclarativeLab

CDC = """
    from pyspark import pipelines as dp
    from pyspark.sql import functions as F

    @dp.temporary_view
    def changes():
        return spark.readStream.schema(
            "id bigint, name string, version int, op string").json("{data}")

    dp.create_streaming_table("people")
    dp.create_auto_cdc_flow(
        target="people",
        source="changes",
        keys=["id"],
        sequence_by="version",
        apply_as_deletes="op = 'delete'",
        except_column_list=["op", "version"],
        stored_as_scd_type=1,
        name="apply",
    )
"""


class _Changes:
    """Batches of changes, each in a file of its own."""

    def __init__(self, project: DeclarativeLab, module: str = CDC) -> None:
        self._folder, self._files = project.folder / "data", 0
        self._folder.mkdir()
        project.write({"transformations/cdc.py": module.replace("{data}", str(self._folder))})

    def add(self, *changes: Mapping[str, object]) -> None:
        self._files += 1
        lines = (json.dumps(change) for change in changes)
        (self._folder / f"{self._files}.json").write_text("\n".join(lines))


def _change(
    key: int | None, name: str, version: int | None, op: str = "upsert"
) -> dict[str, object]:
    return {"id": key, "name": name, "version": version, "op": op}


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_newest_change_counts_in_whatever_order_changes_come(project: DeclarativeLab) -> None:
    changes = _Changes(project)
    changes.add(_change(1, "b", 2), _change(1, "a", 1), _change(2, "x", 1), _change(3, "y", 1))
    project.run_once()
    changes.add(_change(1, "late", 1), _change(2, "", 5, "delete"), _change(3, "z", 2))
    project.run_once()
    changes.add(_change(2, "too late", 4), _change(4, "gone at once", 1, "delete"))

    pipeline = project.run_once()

    assert project.rows(pipeline, "people") == [(1, "b"), (3, "z")]
    changes.add(_change(2, "back", 6))
    assert project.rows(project.run_once(), "people") == [(1, "b"), (2, "back"), (3, "z")]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_batch_that_is_run_again_changes_nothing(project: DeclarativeLab) -> None:
    """The process dies after the table was written and before Spark noted the batch."""
    changes = _Changes(project)
    changes.add(_change(1, "a", 1), _change(2, "b", 1, "delete"))
    project.run_once()
    commits = project.folder / "storage" / project.name / "apply" / "commits"
    newest = max(int(file.name) for file in commits.iterdir() if file.name.isdigit())
    (commits / f"{newest}").unlink()
    (commits / f".{newest}.crc").unlink()

    assert project.rows(project.run_once(), "people") == [(1, "a")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_change(None, "a", 1), "met 1 change without a value in `id`"),
        (_change(1, "a", None), "met 1 change without a sequence (`version`)"),
    ],
)
def test_a_change_without_a_place_stops_the_flow(
    project: DeclarativeLab, change: Mapping[str, object], said: str
) -> None:
    _Changes(project).add(change, _change(7, "fine", 1))

    with pytest.raises(AssertionError) as caught:
        project.run_once()

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "code", "said"),
    [
        ('keys=[F.col("id")]', "PEN-370", "a Column as `keys` of `create_auto_cdc_flow`"),
        ("keys=[]", "PEN-103", "expected a list of column names"),
        ('keys=["id"], stored_as_scd_type=2', "PEN-370", "`stored_as_scd_type=2`"),
        ('keys=["nope"]', "PEN-320", "there is no column `nope`"),
        ('keys=["id"], column_list=["name"]', "PEN-108", "has the key column `id`"),
    ],
)
def test_wrong_arguments_are_told_with_the_line_of_the_call(
    project: DeclarativeLab, wrong: str, code: str, said: str
) -> None:
    _Changes(
        project,
        f"""
    from pyspark import pipelines as dp
    from pyspark.sql import functions as F

    @dp.temporary_view
    def changes():
        return spark.readStream.schema("id bigint, name string, version int").json("{{data}}")

    dp.create_streaming_table("people")
    dp.create_auto_cdc_flow("people", "changes", sequence_by="version", {wrong})
    """,
    )

    (problem,) = project.problems()

    assert (problem[0], said in problem[1], problem[2:]) == (code, True, ("cdc.py", 10))
