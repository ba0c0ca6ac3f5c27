"""Configs and modes, of everything, of a context and of a subject."""

import pytest

from support.folded_registry import Api, record_schema

FIRST = record_schema("a")


def test_compatibility_is_backward_unless_told_otherwise(api: Api) -> None:
    assert api.get("/config").value == {"compatibilityLevel": "BACKWARD"}
    assert api.get("/config/orders?defaultToGlobal=true").value == {
        "compatibilityLevel": "BACKWARD"
    }


def test_a_level_is_set_in_any_case_and_answered_under_its_other_name(api: Api) -> None:
    assert api.put("/config", {"compatibility": "full"}).value == {"compatibility": "FULL"}
    assert api.get("/config").value == {"compatibilityLevel": "FULL"}


def test_the_nearest_level_counts(api: Api) -> None:
    api.put("/config", {"compatibility": "NONE"})
    api.put("/config/orders", {"compatibility": "FULL"})

    def level(subject: str) -> object:
        return api.get(f"/config/{subject}?defaultToGlobal=true")["compatibilityLevel"]

    assert [level("orders"), level("others"), level(":.eu:orders")] == ["FULL", "NONE", "BACKWARD"]
    api.put("/config/:.eu:", {"compatibility": "FORWARD"})
    assert level(":.eu:orders") == "FORWARD"


def test_the_level_none_lets_everything_pass(api: Api) -> None:
    api.put("/config/orders", {"compatibility": "NONE"})
    api.register("orders", '"string"')

    assert api.register("orders", '"int"') == 2


def test_a_config_keeps_all_its_fields(api: Api) -> None:
    given = {
        "alias": "sales",
        "normalize": True,
        "validateFields": True,
        "compatibility": "FULL",
        "compatibilityGroup": "major",
        "defaultMetadata": {"properties": {"owner": "me"}},
        "overrideRuleSet": {
            "domainRules": [{"name": "r", "mode": "WRITE", "type": "CEL", "disabled": True}]
        },
    }

    assert api.put("/config/orders", given).value == given
    expected = {**given, "compatibilityLevel": "FULL"}
    del expected["compatibility"]
    assert api.get("/config/orders").value == expected


def test_fields_that_are_not_given_stay_and_null_unsets_one(api: Api) -> None:
    api.put("/config/orders", {"compatibility": "FULL", "normalize": True, "alias": "sales"})

    api.put("/config/orders", {"normalize": False, "alias": None})

    assert api.get("/config/orders").value == {"normalize": False, "compatibilityLevel": "FULL"}


def test_without_its_own_config_a_subject_has_the_global_one_again(api: Api) -> None:
    api.put("/config/orders", {"compatibility": "FULL"})

    assert api.delete("/config/orders").value == {"compatibilityLevel": "FULL"}
    assert api.get("/config/orders").error_code == 40408
    assert api.delete("/config/orders").error_code == 40401


def test_without_a_global_config_the_default_holds_again(api: Api) -> None:
    api.put("/config", {"compatibility": "FULL"})

    assert api.delete("/config").value == {"compatibilityLevel": "FULL"}
    assert api.get("/config").value == {"compatibilityLevel": "BACKWARD"}


def test_an_alias_stands_for_another_subject(api: Api) -> None:
    api.register("orders", FIRST)
    api.put("/config/sales", {"alias": "orders"})

    assert api.get("/subjects/sales/versions/latest")["subject"] == "orders"


def test_everything_may_be_written_unless_told_otherwise(api: Api) -> None:
    assert api.get("/mode").value == {"mode": "READWRITE"}
    assert api.get("/mode/orders?defaultToGlobal=true").value == {"mode": "READWRITE"}


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_a_read_only_registry_only_answers(api: Api, mode: str) -> None:
    api.register("orders", FIRST)
    assert api.put("/mode", {"mode": mode}).value == {"mode": mode}

    refused = [
        api.post("/subjects/orders/versions", {"schema": '"int"'}),
        api.delete("/subjects/orders"),
        api.delete("/subjects/orders/versions/1"),
        api.put("/config/orders", {"compatibility": "NONE"}),
    ]

    assert [answer.error_code for answer in refused] == [42205] * 4
    assert api.register("orders", FIRST) == 1, "what is there already is found"
    assert api.get("/schemas/ids/1").status == 200


def test_a_subject_may_be_written_where_others_are_read_only(api: Api) -> None:
    api.put("/mode", {"mode": "READONLY"})
    api.put("/mode/orders", {"mode": "READWRITE"})

    assert api.register("orders", FIRST) == 1
    assert api.post("/subjects/others/versions", {"schema": FIRST}).error_code == 42205


def test_an_overriding_mode_holds_whatever_a_subject_says(api: Api) -> None:
    api.put("/mode/orders", {"mode": "READWRITE"})
    api.put("/mode", {"mode": "READONLY_OVERRIDE"})

    assert api.post("/subjects/orders/versions", {"schema": FIRST}).error_code == 42205
    assert api.get("/mode/orders").value == {"mode": "READONLY_OVERRIDE"}


def test_without_its_own_mode_a_subject_has_the_global_one_again(api: Api) -> None:
    api.put("/mode/orders", {"mode": "READONLY"})

    assert api.delete("/mode/orders").value == {"mode": "READONLY"}
    assert api.get("/mode/orders").error_code == 40409
    assert api.delete("/mode/orders").error_code == 40401


def test_the_modes_of_all_subjects_end_with_that_of_their_context(api: Api) -> None:
    for subject in (":.eu:", ":.eu:orders", "orders"):
        api.put(f"/mode/{subject}", {"mode": "READONLY"})

    api.delete("/mode/:.eu:?recursive=true")

    assert api.get("/mode/:.eu:orders").error_code == 40409
    assert api.get("/mode/orders").value == {"mode": "READONLY"}


def test_the_global_mode_can_be_unset(api: Api) -> None:
    api.put("/mode", {"mode": "READONLY"})

    assert api.delete("/mode").value == {"mode": "READONLY"}
    assert api.get("/mode").value == {"mode": "READWRITE"}
