"""Requests that are wrong, large or strange: each ends with an answer in JSON."""

import json
import time

import pytest

from support.folded_registry import Api, record_schema

FIRST = record_schema("a")
VERSIONS = "/subjects/orders/versions"


@pytest.mark.parametrize(
    "path", ["/nothing", "/subjects/orders/nothing", "/schemas/ids", "/schemas/ids/x", "/v2"]
)
def test_a_path_that_is_not_there_is_not_found(api: Api, path: str) -> None:
    answer = api.get(path)

    assert (answer.status, answer.error_code) == (404, 404)
    assert answer.content_type == "application/vnd.schemaregistry.v1+json"


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/subjects"), ("GET", "/subjects/orders"), ("POST", "/config"), ("PATCH", "/mode")],
)
def test_a_method_that_a_path_does_not_have_is_not_allowed(
    api: Api, method: str, path: str
) -> None:
    answer = api.ask(method, path)

    assert (answer.status, answer.error_code) == (405, 405)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"null", 422),
        (b"{", 400),
        (b"[]", 400),
        (b'"text"', 400),
        (b"\xff\xfe", 400),
        (b'{"schema": 1}', 400),
        (b'{"schema": "\\ud800"}', 400),
        (b'{"schema": "{}", "references": {}}', 400),
        (b'{"schema": "{}", "references": [{"name": "a"}]}', 400),
        (b'{"schema": "{}", "id": "one"}', 400),
        (b'{"schema": "{}", "version": 3000000000}', 400),
        (b'{"schema": "{}", "metadata": {"properties": {"a": 1}}}', 400),
        (b'{"a":' * 100_000, 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"schema": "\\"int\\"", "schemaType": "XML"}', 422),
    ],
    ids=range(16),
)
def test_a_body_that_is_no_request_is_refused(api: Api, content: bytes, status: int) -> None:
    answer = api.ask("POST", VERSIONS, content=content)

    assert answer.status == status, answer
    assert str(answer.error_code).startswith(str(status))


def test_fields_that_are_not_known_are_passed_over(api: Api) -> None:
    assert api.register("orders", FIRST, propagateSchemaTags=True, novelty={"a": 1}) == 1


def test_a_body_above_the_limit_is_refused(api: Api) -> None:
    answer = api.ask("POST", VERSIONS, content=b" " * 2_000_001)

    assert (answer.status, answer.error_code) == (413, 413)


def test_another_content_type_is_refused(api: Api) -> None:
    answer = api.ask(
        "POST", VERSIONS, {"schema": FIRST}, headers={"content-type": "text/xml; charset=utf-8"}
    )

    assert (answer.status, answer.error_code) == (415, 415)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("*/*", "application/vnd.schemaregistry.v1+json"),
        ("application/json", "application/json"),
        ("text/html, application/*;q=0.1", "application/vnd.schemaregistry.v1+json"),
        (
            "application/json;q=0.5, application/vnd.schemaregistry+json;q=0.9",
            "application/vnd.schemaregistry+json",
        ),
    ],
)
def test_an_answer_has_the_content_type_that_is_accepted(
    api: Api, accept: str, expected: str
) -> None:
    assert api.ask("GET", "/subjects", headers={"accept": accept}).content_type == expected
    missing = api.ask("GET", "/schemas/ids/1", headers={"accept": accept})
    assert (missing.error_code, missing.content_type) == (40403, expected)


def test_a_client_that_accepts_nothing_of_ours_is_told(api: Api) -> None:
    answer = api.ask("GET", "/subjects", headers={"accept": "text/html"})

    assert (answer.status, answer.error_code) == (406, 406)


@pytest.mark.parametrize(
    ("encoded", "subject"),
    [
        ("a%2Fb", "a/b"),
        ("..%2F..%2Fetc", "../../etc"),
        ("%C3%BC%20%2B", "ü +"),
        ("a%252Fb", "a%2Fb"),
        ("%3Cscript%3E", "<script>"),
        ("a+b", "a+b"),
    ],
)
def test_a_subject_may_contain_everything_that_can_be_encoded(
    api: Api, encoded: str, subject: str
) -> None:
    api.post(f"/subjects/{encoded}/versions", {"schema": FIRST})

    assert api.get("/subjects").value == [subject]
    assert api.get(f"/subjects/{encoded}/versions/latest")["subject"] == subject
    assert api.get(f"/subjects/{encoded}/versions/").value == [1]


@pytest.mark.parametrize(
    ("version", "status"),
    [
        ("latest", 200),
        ("-1", 200),
        ("1", 200),
        ("0", 422),
        ("-2", 422),
        ("2147483647", 404),
        ("2147483648", 422),
        ("99999999999999999999", 422),
        ("1.0", 422),
        ("LATEST", 422),
        ("%D9%A1", 422),
        ("1%00", 422),
    ],
)
def test_a_version_is_a_number_from_one_or_latest(api: Api, version: str, status: int) -> None:
    api.register("orders", FIRST)

    assert api.get(f"{VERSIONS}/{version}").status == status


@pytest.mark.parametrize(
    "path", ["/schemas/ids/2147483648", "/subjects?offset=x", "/schemas?limit="]
)
def test_a_number_that_is_none_is_not_found(api: Api, path: str) -> None:
    assert api.get(path).error_code == 404


@pytest.mark.parametrize("schema_id", [-5, -1, 0])
def test_an_id_that_was_never_given_is_not_found(api: Api, schema_id: int) -> None:
    assert api.get(f"/schemas/ids/{schema_id}").error_code == 40403


def test_flags_other_than_true_are_false(api: Api) -> None:
    api.register("orders", FIRST)
    api.delete("/subjects/orders")

    listed = [api.get(f"/subjects?deleted={value}").value for value in ("TRUE", "1", "yes", "")]

    assert listed == [["orders"], [], [], []]


def test_a_deep_schema_is_refused_within_a_second(api: Api) -> None:
    deep = '{"type":"array","items":' * 50_000 + '"int"' + "}" * 50_000

    started = time.process_time()
    answer = api.post(VERSIONS, {"schema": deep})

    assert answer.error_code == 42201
    assert time.process_time() - started < 1


def test_metadata_as_large_as_a_schema_may_be_is_too_large(api: Api) -> None:
    metadata = {"properties": {"note": "n" * 1_100_000}}

    assert api.post(VERSIONS, {"schema": FIRST, "metadata": metadata}).error_code == 42209
    assert json.loads(api.get("/subjects").text) == []
