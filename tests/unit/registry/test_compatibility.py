"""Asking whether a schema would be compatible, before it is registered."""

import pytest

from support.folded_registry import Api, record_schema

OPTIONAL = record_schema("a")
NEEDED = '{"type":"record","name":"Order","fields":[{"name":"z","type":"int"}]}'
PATH = "/compatibility/subjects/orders/versions"


def test_a_schema_that_fits_is_compatible(api: Api) -> None:
    api.register("orders", OPTIONAL)

    body = {"schema": record_schema("a", "b")}
    assert api.post(f"{PATH}/latest", body).value == {"is_compatible": True}
    assert api.post(f"{PATH}?verbose=true", body).value == {"is_compatible": True, "messages": []}


@pytest.mark.parametrize("version", ["latest", "-1", "1", ""])
def test_reasons_are_told_when_asked(api: Api, version: str) -> None:
    api.register("orders", OPTIONAL)
    path = f"{PATH}/{version}" if version else PATH

    assert api.post(path, {"schema": NEEDED}).value == {"is_compatible": False}
    messages = api.post(f"{path}?verbose=true", {"schema": NEEDED})["messages"]
    assert isinstance(messages, list)
    assert messages[0].startswith("{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'")
    assert messages[-3:] == [
        "{oldSchemaVersion: 1}",
        f"{{oldSchema: '{OPTIONAL}'}}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ]


def test_all_versions_count_where_the_level_is_transitive(api: Api) -> None:
    api.put("/config/orders", {"compatibility": "NONE"})
    for schema in ('"string"', '"int"'):
        api.register("orders", schema)

    def compatible(level: str, path: str) -> object:
        api.put("/config/orders", {"compatibility": level})
        return api.post(path, {"schema": '"long"'})["is_compatible"]

    assert compatible("BACKWARD", PATH) is True
    assert compatible("BACKWARD_TRANSITIVE", PATH) is False
    assert compatible("BACKWARD_TRANSITIVE", f"{PATH}/2") is True
    assert compatible("FORWARD", PATH) is False
    assert compatible("FULL", f"{PATH}/1") is False


def test_everything_is_compatible_with_a_subject_that_is_not_there(api: Api) -> None:
    assert api.post(PATH, {"schema": NEEDED}).value == {"is_compatible": True}
    assert api.post(f"{PATH}/latest", {"schema": NEEDED}).value == {"is_compatible": True}


def test_a_version_that_is_not_there_cannot_be_compared_with(api: Api) -> None:
    assert api.post(f"{PATH}/3", {"schema": NEEDED}).error_code == 40402


def test_a_deleted_version_is_not_compared_with(api: Api) -> None:
    api.register("orders", OPTIONAL)
    api.delete("/subjects/orders/versions/1")

    assert api.post(PATH, {"schema": NEEDED})["is_compatible"] is True
    assert api.post(f"{PATH}/1", {"schema": NEEDED}).error_code == 40402


def test_what_is_no_schema_is_an_error_or_a_reason(api: Api) -> None:
    assert api.post(PATH, {"schema": "{"}).error_code == 42201
    answer = api.post(f"{PATH}?verbose=true", {"schema": "{"})
    assert (answer.status, answer["is_compatible"]) == (200, False)
    assert api.post(PATH, {"schema": ""}).error_code == 42201


def test_another_type_is_incompatible(api: Api) -> None:
    api.register("orders", OPTIONAL)

    body = {"schema": '{"type":"object"}', "schemaType": "JSON"}
    assert api.post(PATH, body)["is_compatible"] is False
