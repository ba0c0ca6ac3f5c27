"""Schemas by id and guid, lists and pages, and what the server says of itself."""

from support.folded_registry import Api, record_schema

FIRST, SECOND = record_schema("a"), record_schema("a", "b")


def test_a_schema_is_found_by_its_id(api: Api) -> None:
    api.register("orders", FIRST)

    found = api.get("/schemas/ids/1")

    assert (found["schema"], found["schemaType"]) == (FIRST, "AVRO")
    assert "subject" not in found.text
    assert "maxId" not in found.text


def test_the_highest_id_is_told_when_asked(api: Api) -> None:
    for schema in (FIRST, SECOND):
        api.register("orders", schema)

    assert api.get("/schemas/ids/1?fetchMaxId=true")["maxId"] == 2


def test_just_the_schema_can_be_asked_for(api: Api) -> None:
    api.register("orders", FIRST)

    assert api.get("/schemas/ids/1/schema").text == FIRST
    assert api.get("/subjects/orders/versions/1/schema").text == FIRST


def test_subjects_of_an_id_are_named_once(api: Api) -> None:
    for subject in ("orders", "others"):
        api.register(subject, FIRST)

    assert api.get("/schemas/ids/1/subjects").value == ["orders", "others"]


def test_a_schema_is_found_by_its_guid(api: Api) -> None:
    api.register("orders", FIRST)
    guid = api.get("/schemas/ids/1")["guid"]
    api.register(":.eu:orders", FIRST)
    api.register("orders", SECOND)

    assert api.get(f"/schemas/guids/{guid}")["schema"] == FIRST
    assert api.get(f"/schemas/guids/{guid}/ids").value == [
        {"context": ".", "id": 1},
        {"context": ".eu", "id": 1},
    ]
    second = api.get("/schemas/ids/2")["guid"]
    assert api.get(f"/schemas/guids/{second}")["schema"] == SECOND
    assert api.get("/schemas/guids/nothing").error_code == 40403


def listed(api: Api, query: str) -> list[tuple[str, int]]:
    answer = api.get(f"/schemas{query}").value
    assert isinstance(answer, list)
    return [(one["subject"], one["version"]) for one in answer]


def test_all_schemas_are_listed_by_prefix_and_page(api: Api) -> None:
    for subject in ("sales", "orders", "orders-key"):
        for schema in (FIRST, SECOND):
            api.register(subject, schema)
    api.delete("/subjects/orders/versions/2")

    assert listed(api, "") == [
        ("orders", 1),
        ("orders-key", 1),
        ("orders-key", 2),
        ("sales", 1),
        ("sales", 2),
    ]
    assert listed(api, "?subjectPrefix=orders&deleted=true") == [
        ("orders", 1),
        ("orders", 2),
        ("orders-key", 1),
        ("orders-key", 2),
    ]
    latest = [("orders", 1), ("orders-key", 2), ("sales", 2)]
    assert listed(api, "?latestOnly=true") == latest
    assert listed(api, "?latestOnly=true&offset=1&limit=1") == latest[1:2]
    assert listed(api, "?offset=4&limit=-1") == [("sales", 2)]


def test_schemas_are_listed_by_the_type_of_their_rules(api: Api) -> None:
    rule = {"name": "r", "kind": "TRANSFORM", "mode": "WRITEREAD", "type": "ENCRYPT"}
    api.register("orders", FIRST, ruleSet={"encodingRules": [rule]})
    api.register("others", FIRST)

    assert listed(api, "?ruleType=ENCRYPT") == [("orders", 1)]
    assert listed(api, "?ruleType=CEL") == []


def test_subjects_and_versions_come_in_pages(api: Api) -> None:
    for subject in ("a", "b", "c"):
        api.register(subject, FIRST)
    api.register("a", SECOND)

    assert api.get("/subjects?offset=1&limit=1").value == ["b"]
    assert api.get("/subjects?limit=0").value == ["a", "b", "c"]
    assert api.get("/subjects/a/versions?offset=1").value == [2]


def test_the_server_tells_its_types_its_cluster_and_that_it_is_there(api: Api) -> None:
    assert api.get("/").value == {}
    assert api.post("/").value == {}
    assert api.get("/schemas/types").value == ["JSON", "PROTOBUF", "AVRO"]
    assert api.get("/v1/metadata/id")["scope"] == {
        "path": [],
        "clusters": {"kafka-cluster": "kafka-1", "schema-registry-cluster": "schema-registry"},
    }
    assert api.get("/v1/metadata/version").status == 200
