"""Schemas that refer to others."""

from dataclasses import replace

from penstock.names import Subject
from penstock.registry.entries import Content, SchemaVersion
from penstock.registry.records import encode
from penstock.schemas import Reference
from support.folded_registry import Api

ADDRESS = '{"type":"record","name":"Address","fields":[{"name":"city","type":"string"}]}'
CUSTOMER = '{"type":"record","name":"Customer","fields":[{"name":"home","type":"Address"}]}'
TO_ADDRESS = [{"name": "Address", "subject": "address", "version": 1}]


def with_customer(api: Api) -> None:
    api.register("address", ADDRESS)
    api.register("customer", CUSTOMER, references=TO_ADDRESS)


def test_a_schema_is_returned_with_its_references(api: Api) -> None:
    with_customer(api)

    assert api.get("/schemas/ids/2")["references"] == TO_ADDRESS
    assert api.get("/subjects/customer/versions/1")["references"] == TO_ADDRESS


def test_a_reference_that_leads_nowhere_makes_a_schema_invalid(api: Api) -> None:
    answer = api.post("/subjects/customer/versions", {"schema": CUSTOMER, "references": TO_ADDRESS})

    assert answer.error_code == 42201
    assert "'Address'" in str(answer["message"])


def test_those_who_refer_to_a_version_are_named(api: Api) -> None:
    with_customer(api)

    assert api.get("/subjects/address/versions/1/referencedby").value == [2]
    assert api.get("/subjects/customer/versions/1/referencedby").value == []


def test_what_is_referred_to_cannot_be_deleted(api: Api) -> None:
    with_customer(api)

    answers = [api.delete("/subjects/address"), api.delete("/subjects/address/versions/1")]

    assert [answer.error_code for answer in answers] == [42206, 42206]
    assert api.get("/subjects/address/versions").value == [1]


def test_what_a_deleted_schema_refers_to_can_be_deleted(api: Api) -> None:
    with_customer(api)
    api.delete("/subjects/customer")

    assert api.delete("/subjects/address").value == [1]


def test_a_reference_to_the_latest_version_keeps_the_number_it_had_then(api: Api) -> None:
    api.register("address", ADDRESS)
    latest = [{**TO_ADDRESS[0], "version": -1}]

    api.register("customer", CUSTOMER, references=latest)

    assert api.get("/subjects/customer/versions/1")["references"] == TO_ADDRESS


def test_a_reference_means_the_context_of_its_schema(api: Api) -> None:
    api.register(":.eu:address", ADDRESS)

    api.register(":.eu:customer", CUSTOMER, references=TO_ADDRESS)

    assert api.get("/subjects/:.eu:address/versions/1/referencedby").value == [2]


def test_other_references_make_another_schema(api: Api) -> None:
    with_customer(api)
    api.register("address", ADDRESS.replace("}]", ',"doc":"x"}]'))
    second = [{**TO_ADDRESS[0], "version": 2}]

    assert api.register("customer", CUSTOMER, references=second) == 4


def test_references_that_lead_back_to_themselves_are_refused(api: Api) -> None:
    """A log written elsewhere can have such a circle."""

    def version(subject: str, to: str) -> SchemaVersion:
        reference = Reference(name=to, subject=to, version=1)
        content = Content(text=CUSTOMER, references=(reference,))
        return SchemaVersion(subject=Subject(subject), version=1, id=1, content=content)

    api.log.append([encode(version("a", "b")), encode(replace(version("b", "a"), id=2))])

    answer = api.post(
        "/subjects/c/versions",
        {"schema": CUSTOMER, "references": [{"name": "a", "subject": "a", "version": 1}]},
    )

    assert answer.error_code == 42201
    assert "leads back to itself" in str(answer["message"])


def test_references_that_double_at_each_level_are_read_once_each(api: Api) -> None:
    """Thirty levels of two references each would be a thousand million, one by one."""

    def version(level: int, side: str) -> SchemaVersion:
        below = [f"R{level - 1}{other}" for other in "ab" if level]
        fields = ",".join(f'{{"name":"{one}","type":"{one}"}}' for one in below)
        return SchemaVersion(
            subject=Subject(f"R{level}{side}"),
            version=1,
            id=2 * level + (side == "b"),
            content=Content(
                text=f'{{"type":"record","name":"R{level}{side}","fields":[{fields}]}}',
                references=tuple(Reference(name=one, subject=one, version=1) for one in below),
            ),
        )

    api.log.append([encode(version(level, side)) for level in range(31) for side in "ab"])

    same = version(31, "a").content
    references = [
        {"name": one.name, "subject": one.subject, "version": 1} for one in same.references
    ]
    assert api.register("top", same.text, references=references) == 62
