"""Every package says in `__all__` what is public, and means it."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import penstock

PACKAGES = ["penstock"] + [
    module.name
    for module in pkgutil.walk_packages(penstock.__path__, "penstock.")
    if module.ispkg and hasattr(importlib.import_module(module.name), "__all__")
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_names_are_sorted_and_said_once(package: str) -> None:
    exported = importlib.import_module(package).__all__
    assert list(exported) == sorted(set(exported), key=_as_the_linter_sorts)


def _as_the_linter_sorts(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest: the order that ruff's RUF022 keeps."""
    if name.isupper():
        return (0, name)
    return (1, name) if name[0].isupper() else (2, name)


def test_what_a_project_needs_is_in_the_package_itself() -> None:
    clients = {"Consumer", "DatabaseOffsets", "Producer", "Record", "worker"}
    datasets = {"files", "lookup", "rate", "socket", "table", "topic", "view"}
    formats = {"bytes", "csv", "json", "orc", "parquet", "text", "avro", "json_schema", "protobuf"}
    lookups = {"csv_file", "enrich", "json_file", "orc_file", "parquet_file"}
    assert set(penstock.__all__) == {"flow", "deduplicate"} | clients | datasets | formats | lookups


def test_names_are_imported_when_they_are_first_used() -> None:
    program = (
        "import sys, penstock\n"
        "before = {'pydantic', 'confluent_kafka', 'pyspark'} & set(sys.modules)\n"
        "penstock.topic\n"
        "after = {'pydantic', 'confluent_kafka', 'pyspark'} & set(sys.modules)\n"
        "print(sorted(before), sorted(after))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[] ['pydantic']\n"


def test_a_name_that_is_not_there_is_missing_as_anywhere() -> None:
    assert not hasattr(penstock, "topics")
