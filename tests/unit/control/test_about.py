"""What a driver tells of its pipeline once: the graph, settings without secrets, bounded plans."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from penstock.control.about import (
    MOST_PLAN_CHARACTERS,
    about,
    about_key,
    bounded_plan,
    decode_about,
    decode_plan,
    encode_about,
    plan_key,
    told_by,
)
from penstock.names import FlowName, PipelineName
from penstock.pipeline import Avro, Csv, Json
from penstock.settings import load_settings
from support.declared import declared_topic, pipeline_of

if TYPE_CHECKING:
    from pathlib import Path

SHOP, DETECT = PipelineName("shop"), FlowName("detect")


def test_the_graph_and_the_settings_survive_the_table_without_secrets(tmp_path: Path) -> None:
    settings = load_settings(
        {"bootstrap": "b:9092"},
        start=tmp_path,
        environ={"PENSTOCK_SASL_PASSWORD": "hunter2", "HOME": str(tmp_path)},
    )
    told = about(pipeline_of(declared_topic("lines")), settings)

    assert decode_about(encode_about(told)) == told
    assert b"hunter2" not in encode_about(told)
    assert "dataset:lines" in {node.id for node in told.graph.nodes}
    assert dict(told.topics) == {"lines": "lines"}


def test_what_records_are_declared_to_be_is_told(tmp_path: Path) -> None:
    settings = load_settings({}, start=tmp_path, environ={"HOME": str(tmp_path)})
    lines = replace(
        declared_topic("lines", kafka_name="raw.lines"), value=Csv(schema="host string")
    )
    orders = replace(declared_topic("orders"), value=Avro(), key_format=Json("id bigint, day date"))

    told = about(pipeline_of(lines, orders), settings)

    assert [(item.topic, item.side, item.format, item.columns) for item in told.contracts] == [
        ("raw.lines", "value", "csv", {"host": "string"}),
        ("orders", "value", "avro", None),
        ("orders", "key", "json", {"id": "bigint", "day": "date"}),
    ]
    assert decode_about(encode_about(told)) == told


def test_what_another_version_wrote_is_not_guessed_at() -> None:
    assert decode_about(b"{}") is None
    assert decode_plan(b"[]") is None


def test_a_long_plan_is_cut() -> None:
    assert bounded_plan("short") == "short"
    cut = bounded_plan("x" * 30_000)
    assert cut == "x" * MOST_PLAN_CHARACTERS + "\n… (30,000 characters)"


@pytest.mark.parametrize(
    ("key", "whose"),
    [
        (about_key(SHOP, 4), (SHOP, 4)),
        (plan_key(SHOP, 5, DETECT), (SHOP, 5)),
        ("status/shop/4", None),
        ("about/shop", None),
        ("about/shop/new", None),
        ("clock", None),
    ],
)
def test_keys_say_whose_they_are(key: str, whose: tuple[str, int] | None) -> None:
    assert told_by(key) == whose
