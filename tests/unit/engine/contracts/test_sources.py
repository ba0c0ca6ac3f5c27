"""Where the schemas of a pipeline come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.engine.contracts.sources import SchemaSources
from penstock.pipeline import Avro
from penstock.schemas import InvalidSchemaError

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.registry.client import RegistryClient


def nobody() -> RegistryClient:
    raise AssertionError


def test_a_file_that_is_no_schema_is_named(tmp_path: Path) -> None:
    path = tmp_path / "Order.avsc"
    path.write_text('{"type": "record"}', encoding="utf-8")

    with pytest.raises(InvalidSchemaError) as caught:
        SchemaSources(tmp_path, nobody).all_files(Avro())

    assert caught.value.origin is not None
    assert caught.value.origin.file == path


@pytest.mark.parametrize("files", [None, (), ("README.md",)], ids=["absent", "empty", "none"])
def test_a_folder_without_schemas_has_none(tmp_path: Path, files: tuple[str, ...] | None) -> None:
    folder = tmp_path / "schemas"
    if files is not None:
        folder.mkdir()
    for name in files or ():
        (folder / name).write_text("Here be schemas.", encoding="utf-8")

    assert SchemaSources(folder, nobody).all_files(Avro()) == []
