"""Registering schemas through the API, and finding them again."""

import pytest

from penstock.names import Subject
from penstock.registry.entries import Content, SchemaVersion
from penstock.registry.errors import StoreError
from penstock.registry.records import encode
from support.folded_registry import Api, record_schema

FIRST, SECOND, THIRD = record_schema("a"), record_schema("a", "b"), record_schema("a", "b", "c")


def test_ids_and_versions_count_from_one(api: Api) -> None:
    assert [api.register("orders", schema) for schema in (FIRST, SECOND)] == [1, 2]
    assert api.get("/subjects/orders/versions").value == [1, 2]


def test_a_registration_is_answered_with_the_numbers_that_were_given(api: Api) -> None:
    answer = api.post("/subjects/orders/versions", {"schema": FIRST})

    assert (answer.status, answer.content_type) == (200, "application/vnd.schemaregistry.v1+json")
    guid = api.get("/schemas/ids/1")["guid"]
    assert answer.value == {"id": 1, "version": 1, "guid": guid}


def test_registering_the_same_schema_again_changes_nothing(api: Api) -> None:
    api.register("orders", FIRST)
    api.register("orders", SECOND)

    assert api.register("orders", FIRST) == 1
    assert api.get("/subjects/orders/versions").value == [1, 2]
    assert len(api.log.records) == 2


def test_the_same_schema_has_the_same_id_under_every_subject(api: Api) -> None:
    api.register("orders", FIRST)
    api.register("other", SECOND)

    assert api.register("copies", FIRST) == 1
    assert api.get("/schemas/ids/1/versions").value == [
        {"subject": "orders", "version": 1},
        {"subject": "copies", "version": 1},
    ]


def test_whitespace_does_not_make_another_schema(api: Api) -> None:
    assert api.register("orders", FIRST) == api.register("orders", FIRST.replace(",", " ,\n "))


def test_schemas_of_two_types_never_share_an_id(api: Api) -> None:
    text = '{"type":"object","title":"T"}'
    json_id = api.register("j", text, schemaType="JSON")

    assert api.register("a", FIRST) != json_id


def test_normalize_makes_schemas_equal_that_mean_the_same(api: Api) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"x"}]}'
    turned = '{"name":"R","fields":[{"doc":"x","type":"int","name":"a"}],"type":"record"}'

    path = "/subjects/orders/versions?normalize=true"
    ids = [api.post(path, {"schema": schema})["id"] for schema in (text, turned)]

    assert ids == [1, 1]


def test_a_config_can_ask_for_normal_forms(api: Api) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int","doc":"x"}]}'
    turned = '{"name":"R","fields":[{"doc":"x","type":"int","name":"a"}],"type":"record"}'
    api.put("/config/orders", {"normalize": True})

    assert [api.register("orders", schema) for schema in (text, turned)] == [1, 1]


def test_an_incompatible_schema_is_refused_with_the_reasons(api: Api) -> None:
    api.register("orders", FIRST)
    needed = '{"type":"record","name":"Order","fields":[{"name":"z","type":"int"}]}'

    answer = api.post("/subjects/orders/versions", {"schema": needed})

    assert (answer.status, answer.error_code) == (409, 409)
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in str(answer["message"])
    assert "compatibility: 'BACKWARD'" in str(answer["message"])


def test_a_deleted_version_does_not_count_for_compatibility(api: Api) -> None:
    api.register("orders", '"string"')
    api.delete("/subjects/orders/versions/1")

    assert api.register("orders", '"int"') == 2


def test_groups_of_compatibility_are_compared_on_their_own(api: Api) -> None:
    api.put("/config/orders", {"compatibilityGroup": "major", "compatibility": "BACKWARD"})

    def metadata(major: str) -> dict[str, object]:
        return {"properties": {"major": major}}

    api.register("orders", '"string"', metadata=metadata("1"))

    assert api.register("orders", '"int"', metadata=metadata("2")) == 2
    refused = api.post(
        "/subjects/orders/versions", {"schema": '"boolean"', "metadata": metadata("2")}
    )
    assert refused.error_code == 409


def test_a_schema_without_metadata_takes_that_of_the_version_before(api: Api) -> None:
    rules = {"domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL"}]}
    metadata = {"properties": {"owner": "me"}, "tags": {"a": ["PII"]}}
    api.register("orders", FIRST, metadata=metadata, ruleSet=rules)

    api.register("orders", SECOND)

    latest = api.get("/subjects/orders/versions/latest")
    assert latest["metadata"] == {"tags": {"a": ["PII"]}, "properties": {"owner": "me"}}
    assert latest["ruleSet"] == {
        "domainRules": [
            {
                "name": "r",
                "kind": "CONDITION",
                "mode": "WRITE",
                "type": "CEL",
                "disabled": False,
            }
        ]
    }


def test_other_metadata_makes_another_schema(api: Api) -> None:
    first = api.register("orders", FIRST, metadata={"properties": {"owner": "me"}})

    assert api.register("orders", FIRST, metadata={"properties": {"owner": "you"}}) != first
    assert api.get("/subjects/orders/versions").value == [1, 2]


def test_metadata_can_change_without_sending_the_schema_again(api: Api) -> None:
    api.register("orders", FIRST)

    api.register("orders", "", metadata={"properties": {"owner": "you"}})

    latest = api.get("/subjects/orders/versions/latest")
    assert (latest["version"], latest["schema"]) == (2, FIRST)


def test_a_look_up_finds_the_version_of_a_schema(api: Api) -> None:
    for schema in (FIRST, SECOND):
        api.register("orders", schema)

    found = api.post("/subjects/orders", {"schema": FIRST})

    assert (found.status, found["subject"], found["version"], found["id"]) == (200, "orders", 1, 1)


def test_a_look_up_finds_deleted_versions_when_asked(api: Api) -> None:
    api.register("orders", FIRST)
    api.register("orders", SECOND)
    api.delete("/subjects/orders/versions/1")

    assert api.post("/subjects/orders", {"schema": FIRST}).error_code == 40403
    assert api.post("/subjects/orders?deleted=true", {"schema": FIRST})["version"] == 1


def test_a_look_up_means_the_metadata_of_the_last_version(api: Api) -> None:
    api.register("orders", FIRST, metadata={"properties": {"owner": "me"}})

    assert api.post("/subjects/orders", {"schema": FIRST})["version"] == 1


def test_the_last_version_with_certain_metadata_is_found(api: Api) -> None:
    api.register("orders", FIRST, metadata={"properties": {"owner": "me", "team": "x"}})
    api.register("orders", SECOND, metadata={"properties": {"owner": "you", "team": "x"}})

    def version(query: str) -> object:
        return api.get(f"/subjects/orders/metadata?{query}")["version"]

    assert version("key=owner&value=me") == 1
    assert version("key=team&value=x") == 2
    assert api.get("/subjects/orders/metadata?key=owner&value=nobody").error_code == 40403
    assert api.get("/subjects/nothing/metadata?key=a&value=b").error_code == 40401


@pytest.mark.parametrize("schema_type", ["JSON", "PROTOBUF"])
def test_schemas_of_other_types_keep_their_type(api: Api, schema_type: str) -> None:
    text = {
        "JSON": '{"type":"object"}',
        "PROTOBUF": 'syntax = "proto3";\nmessage M {\n  string a = 1;\n}\n',
    }[schema_type]

    schema_id = api.register("orders", text, schemaType=schema_type)

    assert api.get(f"/schemas/ids/{schema_id}")["schemaType"] == schema_type
    assert f'"schemaType":"{schema_type}"' in (api.log.last().value or b"").decode()


def test_a_version_that_is_asked_for_must_be_the_next_one(api: Api) -> None:
    api.register("orders", FIRST)

    refused = api.post("/subjects/orders/versions", {"schema": SECOND, "version": 5})
    assert refused.error_code == 42201
    assert api.register("orders", SECOND, version=2) == 2


def test_a_schema_can_be_registered_again_as_a_certain_version(api: Api) -> None:
    """Its number in the metadata makes it another schema; the steps are those of Confluent."""

    def number(version: int) -> dict[str, object]:
        return {"properties": {"confluent:version": str(version)}}

    def latest() -> object:
        return api.get("/subjects/orders/versions/latest").value

    assert api.register("orders", FIRST) == 1
    assert api.register("orders", FIRST, version=-1) == 1
    assert api.register("orders", FIRST, version=2) == 2
    assert api.register("orders", FIRST, version=-1) == 2
    found = latest()
    assert isinstance(found, dict)
    assert (found["version"], found["metadata"]) == (2, number(2))

    def looked_up(**fields: object) -> object:
        return api.post("/subjects/orders", {"schema": FIRST, **fields})["version"]

    assert looked_up() == 1
    assert looked_up(metadata=number(1)) == 1
    assert looked_up(metadata=number(2)) == 2
    api.delete("/subjects/orders/versions/1")
    assert looked_up() == 2

    assert api.register("orders", FIRST) == 2
    assert api.register("orders", FIRST, version=3) == 3
    assert api.register("orders", FIRST, version=-1) == 3
    again = api.post("/subjects/orders/versions", {"schema": FIRST, "version": 3})
    assert again.error_code == 42201
    assert api.register("orders", FIRST, version=4) == 4
    assert looked_up() == 4
    assert api.register("orders", FIRST, metadata=number(-1)) == 5
    assert api.register("orders", FIRST, metadata=number(2)) == 2
    assert api.register("orders", FIRST, metadata=number(0)) == 6
    assert api.register("orders", FIRST, metadata={"properties": {}}) == 6
    assert api.register("orders", FIRST, metadata={"properties": {"mine": "1"}}) == 7
    assert api.register("orders", FIRST, version=-1) == 8


def test_a_config_adds_metadata_and_rules_to_schemas(api: Api) -> None:
    def rule(name: str, expression: str) -> dict[str, object]:
        return {"name": name, "mode": "WRITE", "type": "CEL", "expr": expression}

    api.put(
        "/config/orders",
        {
            "defaultMetadata": {"properties": {"owner": "nobody", "team": "x"}},
            "overrideMetadata": {"properties": {"region": "eu"}},
            "defaultRuleSet": {"domainRules": [rule("a", "1"), rule("b", "1")]},
            "overrideRuleSet": {"domainRules": [rule("c", "3")]},
        },
    )

    given = {
        "metadata": {"properties": {"owner": "me", "region": "us"}},
        "ruleSet": {"domainRules": [rule("b", "2"), rule("c", "2")]},
    }
    api.register("orders", FIRST, **given)

    stored = api.get("/subjects/orders/versions/1")
    assert stored["metadata"] == {"properties": {"owner": "me", "region": "eu", "team": "x"}}
    rules = stored["ruleSet"]
    assert isinstance(rules, dict)
    assert [(one["name"], one["expr"]) for one in rules["domainRules"]] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]
    assert api.register("orders", FIRST, **given) == 1
    assert api.post("/subjects/orders", {"schema": FIRST, **given})["version"] == 1


def test_what_the_log_refuses_is_not_there(api: Api) -> None:
    api.log.refusal = StoreError("no leader in the partition")
    refused = api.post("/subjects/orders/versions", {"schema": FIRST})
    api.log.refusal = None

    assert (refused.status, refused.error_code) == (500, 50001)
    assert api.get("/subjects").value == []
    assert api.register("orders", FIRST) == 1


BAD_DEFAULT = (
    '{"type":"record","name":"Order","fields":[{"name":"a","type":"int","default":"none"}]}'
)


def test_a_default_of_another_type_is_refused_in_a_new_schema(api: Api) -> None:
    assert api.post("/subjects/orders/versions", {"schema": BAD_DEFAULT}).error_code == 42201


def test_a_default_that_an_older_registry_let_in_does_not_block_its_subject(api: Api) -> None:
    old = SchemaVersion(
        subject=Subject("orders"), version=1, id=1, content=Content(text=BAD_DEFAULT)
    )
    api.log.append([encode(old)])

    assert api.post("/subjects/orders", {"schema": BAD_DEFAULT})["id"] == 1
    assert api.register("orders", BAD_DEFAULT.replace('"none"', "0")) == 2


def test_a_form_that_a_type_does_not_know_is_the_stored_one(api: Api) -> None:
    api.register("orders", FIRST)

    assert api.get("/schemas/ids/1?format=nonsense")["schema"] == FIRST
    assert api.get("/subjects/orders/versions/1/schema?format=nonsense").text == FIRST
