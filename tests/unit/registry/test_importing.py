"""Import mode: schemas from another registry keep their ids and versions."""

from support.folded_registry import Api, record_schema

FIRST, SECOND = record_schema("a"), record_schema("a", "b")


def importing(api: Api, subject: str = "") -> None:
    answer = api.put(f"/mode{'/' if subject else ''}{subject}", {"mode": "IMPORT"})
    assert answer.status == 200, answer


def test_imported_schemas_keep_their_ids_and_versions(api: Api) -> None:
    importing(api)

    assert api.register("orders", SECOND, id=100, version=7) == 100
    assert api.register("orders", FIRST, id=42, version=3) == 42

    assert api.get("/subjects/orders/versions").value == [3, 7]
    assert api.get("/schemas/ids/42")["schema"] == FIRST


def test_imported_schemas_need_not_be_compatible(api: Api) -> None:
    importing(api)
    api.register("orders", '"string"', id=1, version=1)

    assert api.register("orders", '"int"', id=2, version=2) == 2


def test_new_ids_follow_the_highest_imported_one(api: Api) -> None:
    importing(api)
    api.register("orders", FIRST, id=100, version=1)
    api.put("/mode", {"mode": "READWRITE"})

    assert api.register("orders", SECOND) == 101


def test_importing_twice_changes_nothing(api: Api) -> None:
    importing(api)
    for _ in range(2):
        assert api.register("orders", FIRST, id=5, version=2) == 5

    assert (
        api.log.keys().count('{"keytype":"SCHEMA","subject":"orders","version":2,"magic":1}') == 1
    )


def test_one_schema_can_be_imported_under_two_ids(api: Api) -> None:
    importing(api)
    api.register("orders", FIRST, id=5, version=1)

    assert api.register("others", FIRST, id=6, version=1) == 6
    assert api.get("/schemas/ids/5/subjects").value == ["orders"]


def test_an_id_is_not_taken_from_another_schema(api: Api) -> None:
    importing(api)
    api.register("orders", FIRST, id=5, version=1)

    answer = api.post("/subjects/others/versions", {"schema": SECOND, "id": 5, "version": 1})

    assert answer.error_code == 42205


def test_a_schema_with_an_id_is_refused_outside_import_mode(api: Api) -> None:
    answer = api.post("/subjects/orders/versions", {"schema": FIRST, "id": 5})

    assert answer.error_code == 42205


def test_a_schema_without_an_id_is_refused_in_import_mode(api: Api) -> None:
    importing(api)

    assert api.post("/subjects/orders/versions", {"schema": FIRST}).error_code == 42205


def test_nothing_is_imported_among_schemas_unless_forced(api: Api) -> None:
    api.register("orders", FIRST)

    assert api.put("/mode", {"mode": "IMPORT"}).error_code == 42205
    assert api.put("/mode/orders", {"mode": "IMPORT"}).error_code == 42205
    assert api.put("/mode/others", {"mode": "IMPORT"}).status == 200
    assert api.put("/mode?force=true", {"mode": "IMPORT"}).status == 200


def test_what_was_deleted_is_forgotten_before_an_import(api: Api) -> None:
    api.register("orders", FIRST)
    api.delete("/subjects/orders")

    importing(api)

    assert api.get("/subjects?deleted=true").value == []
    assert api.register("others", SECOND, id=1, version=1) == 1


def test_the_mode_of_one_subject_does_not_touch_the_others(api: Api) -> None:
    importing(api, "orders")

    assert api.register("orders", FIRST, id=50, version=1) == 50
    assert api.register("others", SECOND) == 51
