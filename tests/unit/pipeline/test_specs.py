"""The spec of a declarative pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.errors import Origin
from penstock.pipeline import SeveralSpecsError, SpecFieldError, SpecNotReadError, find_spec
from penstock.pipeline import load_spec as load

if TYPE_CHECKING:
    from pathlib import Path

_LEAST = "name: shop\nstorage: file:///data/shop\n"


def _written(folder: Path, text: str) -> Path:
    file = folder / "spark-pipeline.yml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_field_is_read(tmp_path: Path) -> None:
    spec = load(
        _written(
            tmp_path,
            _LEAST + "catalog: spark_catalog\n"
            "database: sales\n"
            "configuration:\n"
            '  spark.sql.shuffle.partitions: "4"\n'
            "  shop.region: north\n"
            "libraries:\n"
            "  - glob:\n"
            "      include: transformations/**\n"
            "  - glob:\n"
            "      include: more.sql\n",
        )
    )

    assert (spec.name, spec.storage) == ("shop", "file:///data/shop")
    assert (spec.catalog, spec.database) == ("spark_catalog", "sales")
    assert spec.configuration == {"spark.sql.shuffle.partitions": "4", "shop.region": "north"}
    assert spec.spark_conf() == {"spark.sql.shuffle.partitions": "4"}
    assert [library.glob for library in spec.libraries] == ["transformations/**/*", "more.sql"]
    assert spec.libraries[1].origin == Origin(spec.file, 12)


def test_schema_is_another_word_for_database(tmp_path: Path) -> None:
    assert load(_written(tmp_path, _LEAST + "schema: sales\n")).database == "sales"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("storage: file:///x\n", None, "the field `name` is missing"),
        ("name: shop\n", None, "the field `storage` is missing"),
        ("name: shop\nstorage: x/y\n", 2, "expected an absolute URI"),
        (_LEAST + "owner: me\n", 3, "there is no field `owner`"),
        ("name: 7\nstorage: file:///x\n", 1, "`name` is `7`, expected a text"),
        (_LEAST + "configuration:\n  a: 4\n", 4, "`a` in `configuration` is `4`, expected a text"),
        (_LEAST + "configuration: x\n", 3, "`configuration` is not a map of texts"),
        (_LEAST + "libraries: x\n", 3, "`libraries` is not a list"),
        (_LEAST + "libraries:\n  - file: x\n", 4, "is not `glob: include: …`"),
        (
            _LEAST + "libraries:\n  - glob:\n      include: a/**/*.py\n",
            5,
            "`a/**/*.py` is neither a file nor a folder followed by `/**`",
        ),
        ("- x\n", 1, "it is not a map of fields"),
    ],
)
def test_a_wrong_field_is_named_with_its_line(
    tmp_path: Path, text: str, line: int | None, said: str
) -> None:
    file = _written(tmp_path, text)

    with pytest.raises(SpecFieldError) as caught:
        load(file)

    assert said in caught.value.message
    assert caught.value.origin == Origin(file, line)


def test_a_spec_that_is_not_of_the_subset_is_refused_with_its_line(tmp_path: Path) -> None:
    file = _written(tmp_path, _LEAST + "libraries: []\n")

    with pytest.raises(SpecNotReadError) as caught:
        load(file)

    assert caught.value.origin == Origin(file, 3)


def test_a_setting_that_is_penstocks_is_refused(tmp_path: Path) -> None:
    spec = load(_written(tmp_path, _LEAST + "configuration:\n  spark.master: local\n"))

    with pytest.raises(SpecFieldError, match="is Penstock's to set"):
        spec.spark_conf()


def test_a_folder_has_one_spec_or_none(tmp_path: Path) -> None:
    assert find_spec(tmp_path) is None
    file = _written(tmp_path, _LEAST)
    assert find_spec(tmp_path) == file
    (tmp_path / "spark-pipeline.yaml").write_text(_LEAST, encoding="utf-8")
    with pytest.raises(SeveralSpecsError):
        find_spec(tmp_path)
