"""Soft and permanent deletes."""

from support.folded_registry import Api, record_schema

FIRST, SECOND = record_schema("a"), record_schema("a", "b")


def with_orders(api: Api) -> None:
    for schema in (FIRST, SECOND):
        api.register("orders", schema)


def test_a_deleted_subject_is_gone_from_the_lists_and_its_ids_still_answer(api: Api) -> None:
    with_orders(api)

    assert api.delete("/subjects/orders").value == [1, 2]

    assert api.get("/subjects").value == []
    assert api.get("/subjects?deleted=true").value == ["orders"]
    assert api.get("/subjects/orders/versions").error_code == 40401
    assert api.get("/subjects/orders/versions/1").error_code == 40401
    assert api.get("/subjects/orders/versions/1?deleted=true")["deleted"] is True
    assert api.get("/schemas/ids/1")["schema"] == FIRST


def test_a_deleted_version_is_gone_from_the_lists(api: Api) -> None:
    with_orders(api)

    assert api.delete("/subjects/orders/versions/latest").value == 2

    assert api.get("/subjects/orders/versions").value == [1]
    assert api.get("/subjects/orders/versions?deleted=true").value == [1, 2]
    assert api.get("/subjects/orders/versions?deletedOnly=true").value == [2]
    assert api.get("/subjects/orders/versions/latest")["version"] == 1
    assert api.get("/schemas/ids/2/versions").value == []
    assert api.get("/schemas/ids/2/versions?deleted=true").value == [
        {"subject": "orders", "version": 2}
    ]


def test_a_subject_with_a_version_left_is_not_a_deleted_one(api: Api) -> None:
    with_orders(api)
    api.delete("/subjects/orders/versions/1")

    assert api.get("/subjects?deletedOnly=true").value == []
    api.delete("/subjects/orders")
    assert api.get("/subjects?deletedOnly=true").value == ["orders"]


def test_a_permanent_delete_takes_the_ids_away(api: Api) -> None:
    with_orders(api)
    api.delete("/subjects/orders")

    assert api.delete("/subjects/orders?permanent=true").value == [1, 2]

    assert api.get("/subjects?deleted=true").value == []
    assert api.get("/schemas/ids/1").error_code == 40403
    assert [record.value for record in api.log.records[-3:]] == [None, None, b'{"maxIds":{".":2}}']


def test_a_permanent_delete_ends_the_settings_of_a_subject(api: Api) -> None:
    with_orders(api)
    api.put("/config/orders", {"compatibility": "FULL"})
    api.put("/mode/orders", {"mode": "READWRITE"})

    api.delete("/subjects/orders")
    assert api.get("/config/orders")["compatibilityLevel"] == "FULL"
    api.delete("/subjects/orders?permanent=true")

    assert api.get("/config/orders").error_code == 40408
    assert api.get("/mode/orders").error_code == 40409


def test_a_permanent_delete_of_the_last_version_ends_the_settings_too(api: Api) -> None:
    with_orders(api)
    api.put("/config/orders", {"compatibility": "FULL"})
    api.delete("/subjects/orders")

    api.delete("/subjects/orders/versions/1?permanent=true")
    assert api.get("/config/orders").status == 200
    api.delete("/subjects/orders/versions/2?permanent=true")

    assert api.get("/config/orders").error_code == 40408


def test_an_id_is_not_given_again_to_another_schema(api: Api) -> None:
    with_orders(api)
    api.delete("/subjects/orders")
    api.delete("/subjects/orders?permanent=true")

    assert api.register("orders", '"int"') == 3
    assert api.get("/subjects/orders/versions").value == [1]


def test_a_schema_registered_again_keeps_its_id_and_gets_a_new_version(api: Api) -> None:
    with_orders(api)
    api.delete("/subjects/orders")

    assert api.register("orders", FIRST) == 1
    assert api.get("/subjects/orders/versions").value == [3]
    assert api.get("/subjects/orders/versions?deleted=true").value == [2, 3]


def test_a_version_is_not_given_again_after_a_soft_delete(api: Api) -> None:
    with_orders(api)
    api.delete("/subjects/orders/versions/2")

    api.register("orders", record_schema("a", "c"))

    assert api.get("/subjects/orders/versions").value == [1, 3]


def test_what_was_deleted_stays_so_in_the_log(api: Api) -> None:
    with_orders(api)

    api.delete("/subjects/orders/versions/1")
    assert b'"deleted":true' in (api.log.last().value or b"")
    api.delete("/subjects/orders")

    assert api.log.last().key == b'{"keytype":"DELETE_SUBJECT","subject":"orders","magic":0}'
    assert api.log.last().value == b'{"subject":"orders","version":2}'
