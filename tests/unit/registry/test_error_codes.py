"""Every error code of the API, each brought about by a request."""

import inspect
from collections.abc import Callable

import pytest

from penstock.registry import errors
from penstock.registry.errors import (
    ForwardingError,
    NotLeaderError,
    RegistryError,
    StoreError,
    StoreTimeoutError,
)
from penstock.registry.writing import MAX_RECORD_BYTES
from support.folded_registry import Answer, Api, record_schema

FIRST, SECOND = record_schema("a"), record_schema("a", "b")
VERSIONS = "/subjects/orders/versions"


def incompatible(api: Api) -> Answer:
    return api.post(VERSIONS, {"schema": '"int"'})


def soft_deleted_subject(api: Api) -> Answer:
    api.delete("/subjects/orders")
    return api.delete("/subjects/orders")


def soft_deleted_version(api: Api) -> Answer:
    api.delete(f"{VERSIONS}/1")
    return api.delete(f"{VERSIONS}/1")


def referenced(api: Api) -> Answer:
    reference = {"name": "Order", "subject": "orders", "version": 1}
    text = '{"type":"record","name":"List","fields":[{"name":"one","type":"Order"}]}'
    api.register("lists", text, references=[reference])
    return api.delete("/subjects/orders")


def another_id(api: Api) -> Answer:
    api.put("/mode?force=true", {"mode": "IMPORT"})
    return api.post(VERSIONS, {"schema": FIRST, "id": 77})


def too_large(api: Api) -> Answer:
    text = record_schema("a", "b").replace("Order", "O" * MAX_RECORD_BYTES)
    return api.post("/subjects/others/versions", {"schema": text})


def rules_without_names(api: Api) -> Answer:
    rules = {"domainRules": [{"mode": "READ", "type": "CEL"}]}
    return api.post(VERSIONS, {"schema": SECOND, "ruleSet": rules})


def context_with_schemas(api: Api) -> Answer:
    api.register(":.eu:orders", FIRST)
    return api.delete("/contexts/eu")


def refused_by_the_log(error: RegistryError) -> Callable[[Api], Answer]:
    def ask(api: Api) -> Answer:
        api.log.refusal = error
        return api.post(VERSIONS, {"schema": SECOND})

    return ask


REQUESTS: dict[int, Callable[[Api], Answer]] = {
    40401: lambda api: api.get("/subjects/nothing/versions"),
    40402: lambda api: api.get(f"{VERSIONS}/9"),
    40403: lambda api: api.get("/schemas/ids/99"),
    40404: soft_deleted_subject,
    40405: lambda api: api.delete("/subjects/orders?permanent=true"),
    40406: soft_deleted_version,
    40407: lambda api: api.delete(f"{VERSIONS}/1?permanent=true"),
    40408: lambda api: api.get("/config/orders"),
    40409: lambda api: api.get("/mode/orders"),
    409: incompatible,
    42201: lambda api: api.post(VERSIONS, {"schema": "{"}),
    42202: lambda api: api.get(f"{VERSIONS}/0"),
    42203: lambda api: api.put("/config", {"compatibility": "MOSTLY"}),
    42204: lambda api: api.put("/mode", {"mode": "SIDEWAYS"}),
    42205: lambda api: api.put("/mode", {"mode": "IMPORT"}),
    42206: referenced,
    42207: another_id,
    42208: lambda api: api.post("/subjects/a%0Ab/versions", {"schema": FIRST}),
    42209: too_large,
    42210: rules_without_names,
    42211: context_with_schemas,
    50001: refused_by_the_log(StoreError("the log is gone")),
    50002: refused_by_the_log(StoreTimeoutError("the log is slow")),
    50003: refused_by_the_log(ForwardingError("the leader is gone")),
    50004: refused_by_the_log(NotLeaderError("nobody leads")),
}
"""Each with `FIRST` registered as version 1 of `orders`."""


@pytest.mark.parametrize("code", REQUESTS)
def test_a_refusal_has_confluents_status_code_and_content_type(api: Api, code: int) -> None:
    api.register("orders", FIRST)

    answer = REQUESTS[code](api)

    assert (answer.status, answer.error_code) == (int(str(code)[:3]), code), answer
    assert answer.content_type == "application/vnd.schemaregistry.v1+json"
    assert answer["message"]


def test_no_error_is_left_out() -> None:
    classes = [
        one
        for _, one in inspect.getmembers(errors, inspect.isclass)
        if issubclass(one, RegistryError)
    ]
    leaves = [one for one in classes if not one.__subclasses__()]

    assert len(leaves) == len(REQUESTS)
