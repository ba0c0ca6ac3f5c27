"""Schema files that need each other are registered in an order that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.names import Subject
from penstock.registry.project import (
    SUFFIXES,
    FileReferencesError,
    SchemaFile,
    graph_of,
    subject_of,
)


def a_file(name: str, text: str) -> SchemaFile:
    path = Path("schemas", name)
    return SchemaFile(
        path=path,
        subject=subject_of(path, root=Path("schemas")),
        type=SUFFIXES[path.suffix],
        text=text,
    )


def needs(files: list[SchemaFile], subject: str) -> tuple[tuple[str, str], ...]:
    found = graph_of(files).needs[Subject(subject)]
    return tuple((need.name, need.subject) for need in found)


ADDRESS = a_file(
    "address.avsc",
    '{"type": "record", "name": "Address", "namespace": "shop", "fields": ['
    '{"name": "country", "type": {"type": "enum", "name": "Country", "symbols": ["DE"]}}]}',
)


def avro_user(kind: str, namespace: str = "shop") -> SchemaFile:
    return a_file(
        "orders-value.avsc",
        f'{{"type": "record", "name": "Order", "namespace": "{namespace}", "fields": ['
        f'{{"name": "to", "type": {kind}}}]}}',
    )


@pytest.mark.parametrize(
    "kind",
    [
        '"Address"',
        '"shop.Address"',
        '["null", "Address"]',
        '{"type": "array", "items": "Address"}',
        '{"type": "map", "values": ["null", "Address"]}',
        '"shop.Country"',
    ],
)
def test_an_avro_type_of_another_file_is_a_reference_to_its_outermost_type(kind: str) -> None:
    assert needs([avro_user(kind), ADDRESS], "orders-value") == (("shop.Address", "address"),)


@pytest.mark.parametrize("kind", ['"string"', '"Order"', '"Unknown"', '["null", "int"]', "5"])
def test_own_types_primitives_and_unknown_names_are_no_references(kind: str) -> None:
    assert needs([avro_user(kind), ADDRESS], "orders-value") == ()


def test_a_name_of_another_namespace_is_another_type() -> None:
    assert needs([avro_user('"Address"', namespace="bank"), ADDRESS], "orders-value") == ()


def test_a_type_that_two_files_define_is_refused_where_it_is_needed() -> None:
    twin = a_file("address-2.avsc", ADDRESS.text)

    assert needs([ADDRESS, twin], "address") == ()
    with pytest.raises(FileReferencesError, match=r"`address.avsc` and `address-2.avsc` define"):
        graph_of([avro_user('"Address"'), ADDRESS, twin])


def test_json_schema_refers_to_files_by_place_or_id_with_or_without_fragment() -> None:
    payment = a_file(
        "pay/payment.json",
        '{"$id": "https://shop/pay/payment", "properties": {"a": {"$ref": "money.json"}, '
        '"b": {"$ref": "../person.json#/definitions/Name"}, "c": {"$ref": "#/definitions/x"}, '
        '"d": {"$ref": "https://shop/color"}, "e": {"$ref": "https://elsewhere/x"}}}',
    )
    others = [
        a_file("pay/money.json", "{}"),
        a_file("person.json", "{}"),
        a_file("color.json", '{"$id": "https://shop/color"}'),
    ]

    assert needs([payment, *others], "pay/payment") == (
        ("money.json", "pay/money"),
        ("../person.json", "person"),
        ("https://shop/color", "color"),
    )


def test_protobuf_imports_begin_at_the_folder_and_comments_do_not_count() -> None:
    trip = a_file(
        "trips-value.proto",
        'syntax = "proto3"; // import "unused.proto";\n'
        '/* import "unused.proto"; */ import public "common/geo.proto";\n'
        "import 'google/protobuf/timestamp.proto';\n"
        'option go_package = "import \\"unused.proto\\";";',
    )
    others = [a_file("common/geo.proto", ""), a_file("unused.proto", "")]

    assert needs([trip, *others], "trips-value") == (("common/geo.proto", "common/geo"),)


def test_what_is_needed_comes_first_and_once_also_when_only_one_file_was_asked_for() -> None:
    files = [
        a_file("a.proto", 'import "b.proto"; import "c.proto";'),
        a_file("b.proto", 'import "d.proto";'),
        a_file("c.proto", 'import "d.proto";'),
        a_file("d.proto", ""),
        a_file("e.proto", ""),
    ]
    graph = graph_of(files)

    assert [file.subject for file in graph.in_order(files)] == ["d", "b", "c", "a", "e"]
    assert [file.subject for file in graph.in_order([files[1]])] == ["d", "b"]
    assert [found.name for found in graph.resolved(Subject("a"))] == ["b.proto", "c.proto"]
    assert graph.resolved(Subject("a"))[0].references[0].name == "d.proto"


def test_files_that_need_each_other_are_refused_with_the_circle() -> None:
    files = [
        a_file("a.proto", 'import "b.proto";'),
        a_file("b.proto", 'import "c.proto";'),
        a_file("c.proto", 'import "b.proto";'),
    ]

    with pytest.raises(FileReferencesError, match="`b` → `c` → `b`"):
        graph_of(files).in_order(files)


def test_a_file_that_is_no_json_needs_nothing_here_and_is_told_by_the_parser() -> None:
    assert needs([a_file("x.avsc", "{"), ADDRESS], "x") == ()
