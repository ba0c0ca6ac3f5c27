"""The files of `schemas/`: what their names mean, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.names import Subject
from penstock.registry.project import (
    SchemaFolderError,
    chosen,
    load_file,
    load_files,
    path_of,
    subject_of,
)
from penstock.schemas import SchemaType

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "subject",
    [
        "orders-value",
        "common/geo",
        ":.eu:orders-value",
        "a%b",
        "ä ö",
        "../../etc/x",
        "a//b",
        ".",
        "a.b",
    ],
)
def test_a_file_is_named_after_its_subject_and_stays_in_the_folder(
    tmp_path: Path, subject: str
) -> None:
    path = path_of(Subject(subject), SchemaType.AVRO, root=tmp_path)

    assert path.resolve().is_relative_to(tmp_path)
    assert subject_of(path, root=tmp_path) == subject


def test_the_suffix_tells_the_type_and_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("a.avsc", "b.json", "c.proto", "README.md"):
        (tmp_path / name).write_text("{}")

    assert [(file.subject, file.type) for file in load_files(tmp_path)] == [
        ("a", SchemaType.AVRO),
        ("b", SchemaType.JSON),
        ("c", SchemaType.PROTOBUF),
    ]


def test_two_files_of_one_subject_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.avsc").write_text("{}")
    (tmp_path / "a.json").write_text("{}")

    with pytest.raises(SchemaFolderError, match="both of subject `a`"):
        load_files(tmp_path)


@pytest.mark.parametrize("exists", [False, True])
def test_no_folder_and_an_empty_one_are_told(tmp_path: Path, *, exists: bool) -> None:
    folder = tmp_path / "schemas"
    if exists:
        folder.mkdir()

    with pytest.raises(SchemaFolderError):
        load_files(folder)


def test_files_are_chosen_by_path_or_subject_and_a_wrong_name_is_corrected(tmp_path: Path) -> None:
    (tmp_path / "orders-value.avsc").write_text("{}")
    (tmp_path / "other.avsc").write_text("{}")
    files = load_files(tmp_path)

    assert [file.subject for file in chosen(files, ["orders-value"])] == ["orders-value"]
    assert [file.subject for file in chosen(files, [str(tmp_path / "other.avsc")])] == ["other"]
    assert chosen(files, []) == files
    with pytest.raises(SchemaFolderError) as caught:
        chosen(files, ["order-value"])
    assert caught.value.hint == "did you mean `orders-value`?"


@pytest.mark.parametrize(("name", "data"), [("x.txt", b"{}"), ("x.avsc", b"\xff")])
def test_a_file_that_is_no_schema_text_is_refused(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)

    with pytest.raises(SchemaFolderError):
        load_file(tmp_path / name, root=tmp_path)
