"""Contexts: ids of their own, and two ways to name them."""

import pytest

from penstock.registry.contexts import (
    InvalidContextError,
    beside,
    is_valid_subject,
    normal_subject,
    prefix_from_path,
)
from support.folded_registry import Api, record_schema

FIRST, SECOND = record_schema("a"), record_schema("a", "b")


def test_each_context_counts_its_ids_from_one(api: Api) -> None:
    assert api.register("orders", FIRST) == 1
    assert api.register(":.eu:orders", SECOND) == 1
    assert api.register(":.eu:orders", FIRST) == 2


def test_an_id_means_a_schema_of_one_context(api: Api) -> None:
    api.register("orders", FIRST)
    api.register(":.eu:orders", SECOND)

    assert api.get("/schemas/ids/1")["schema"] == FIRST
    assert api.get("/schemas/ids/1?subject=:.eu:")["schema"] == SECOND
    assert api.get("/schemas/ids/1?subject=:.eu:orders")["subject"] == ":.eu:orders"
    assert api.get("/schemas/ids/1?subject=:.us:").error_code == 40403
    assert api.get("/schemas/ids/1?subject=:.eu:others").error_code == 40403


def test_a_subject_tells_in_which_context_to_look_for_an_id(api: Api) -> None:
    api.register("others", FIRST)
    api.register(":.eu:orders", SECOND)

    assert api.get("/schemas/ids/1?subject=orders")["schema"] == SECOND
    assert api.get("/schemas/ids/1?subject=nothing")["schema"] == FIRST


def test_contexts_are_listed_and_written_down(api: Api) -> None:
    assert api.get("/contexts").value == ["."]

    api.register(":.eu:orders", FIRST)
    api.register(":.eu:others", FIRST)

    assert api.get("/contexts").value == [".", ".eu"]
    key = '{"keytype":"CONTEXT","tenant":"default","context":".eu","magic":0}'
    assert api.log.keys().count(key) == 1


def test_subjects_are_listed_by_context(api: Api) -> None:
    for subject in ("orders", ":.eu:orders", ":.eu:sales"):
        api.register(subject, FIRST)

    def subjects(query: str) -> object:
        return api.get(f"/subjects{query}").value

    assert subjects("") == [":.eu:orders", ":.eu:sales", "orders"]
    assert subjects("?subjectPrefix=") == ["orders"]
    assert subjects("?subjectPrefix=:.eu:") == [":.eu:orders", ":.eu:sales"]
    assert subjects("?subjectPrefix=:.eu:s") == [":.eu:sales"]
    assert subjects("?subjectPrefix=:*:o") == [":.eu:orders", "orders"]


def test_a_subject_without_context_is_found_in_any(api: Api) -> None:
    api.register(":.eu:orders", FIRST)

    assert api.get("/subjects/orders/versions/1")["subject"] == ":.eu:orders"
    assert api.post("/subjects/orders", {"schema": FIRST})["subject"] == ":.eu:orders"
    assert api.get("/subjects/orders/versions").error_code == 40401


@pytest.mark.parametrize("context", ["eu", ".eu", ":.eu:"])
def test_a_path_can_begin_with_a_context(api: Api, context: str) -> None:
    base = f"/contexts/{context}"
    body = {"schema": FIRST}

    assert api.post(f"{base}/subjects/orders/versions", body)["id"] == 1

    assert api.get("/subjects").value == [":.eu:orders"]
    assert api.get(f"{base}/subjects").value == [":.eu:orders"]
    assert api.get(f"{base}/subjects?subjectPrefix=x").value == []
    assert api.get(f"{base}/subjects/orders/versions/1")["subject"] == ":.eu:orders"
    assert api.get(f"{base}/schemas/ids/1")["schema"] == FIRST
    listed = api.get(f"{base}/schemas").value
    assert isinstance(listed, list)
    assert [one["subject"] for one in listed] == [":.eu:orders"]
    path = f"{base}/compatibility/subjects/orders/versions/latest"
    assert api.post(path, {"schema": '"int"'}).value == {"is_compatible": False}


def test_a_context_in_the_path_has_a_config_and_a_mode(api: Api) -> None:
    api.put("/contexts/eu/config", {"compatibility": "NONE"})
    api.put("/contexts/eu/config/orders", {"compatibility": "FULL"})
    api.put("/contexts/eu/mode", {"mode": "READONLY"})

    assert api.get("/config/:.eu:").value == {"compatibilityLevel": "NONE"}
    assert api.get("/config/:.eu:orders").value == {"compatibilityLevel": "FULL"}
    assert api.get("/contexts/eu/mode").value == {"mode": "READONLY"}
    assert api.get("/mode").value == {"mode": "READWRITE"}


def test_the_default_context_can_be_named(api: Api) -> None:
    api.register(":.:orders", FIRST)

    assert api.get("/subjects").value == ["orders"]
    assert api.get("/contexts/:.:/subjects").value == ["orders"]


def test_an_empty_context_can_be_deleted(api: Api) -> None:
    api.register(":.eu:orders", FIRST)
    assert api.delete("/contexts/eu").error_code == 42211
    api.delete("/subjects/:.eu:orders")
    assert api.delete("/contexts/eu").error_code == 42211
    api.delete("/subjects/:.eu:orders?permanent=true")

    assert api.delete("/contexts/eu").status == 204
    assert api.get("/contexts").value == ["."]
    assert api.delete("/contexts/eu").error_code == 40401


@pytest.mark.parametrize(
    ("subject", "expected"),
    [("a", "a"), (":.:a", "a"), (":.eu:a", ":.eu:a"), (":.eu", ":.eu:"), (":a", ":a"), ("", "")],
)
def test_a_subject_has_one_spelling(subject: str, expected: str) -> None:
    assert normal_subject(subject) == expected


@pytest.mark.parametrize(
    ("subject", "valid"),
    [("a/b", True), ("ünï", True), ("a\nb", False), ("a\x7f", False), ("__GLOBAL", False)],
)
def test_control_characters_and_reserved_names_are_no_subjects(
    subject: str, *, valid: bool
) -> None:
    assert is_valid_subject(subject) is valid


def test_a_reference_with_a_context_stays_there() -> None:
    assert beside(":.eu:a", "b") == ":.eu:b"
    assert beside(":.eu:a", ":.us:b") == ":.us:b"
    assert beside("a", "b") == "b"


def test_a_context_has_no_colon_inside(api: Api) -> None:
    with pytest.raises(InvalidContextError):
        prefix_from_path("a:b")
    answers = [api.get("/contexts/a:b/subjects"), api.delete("/contexts/a:b")]
    assert [(answer.status, answer.error_code) for answer in answers] == [(400, 400)] * 2
