"""What the functions of `import penstock as ps` make of their arguments, and what they refuse."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import Origin
from penstock.names import DatasetName, FlowName, TopicName
from penstock.pipeline import (
    AvailableNow,
    Continuously,
    Csv,
    DataLoss,
    DeclarationError,
    Flow,
    Interval,
    InvalidDeclarationError,
    Json,
    Lookup,
    LookupFile,
    LookupFunction,
    OutputMode,
    RealTime,
    StartAt,
    Table,
    TableFormat,
    Text,
    Topic,
    View,
    collecting,
    kind_of,
)
from support.declarations import declared, told

HERE = Origin(Path(__file__))
WRONG_ARGUMENTS = Path(__file__).with_name("wrong_arguments.txt")
"""Blocks of a declaration and, as their last line, of what is said about it."""


def test_a_topic_has_everything_that_was_said_about_it() -> None:
    with collecting() as collected:
        ps.topic(
            "orders",
            value=ps.json("id string, placed timestamp"),
            key="id",
            kafka_name="shop.orders-v1",
            partitions=6,
            replication=3,
            retention="7 days",
            config={"max.message.bytes": "64000"},
            keys_may_move=True,
            event_time="placed",
            allowed_lateness="1 hour 30 minutes",
            start="latest",
            most_per_trigger=1000,
            min_partitions=12,
            on_data_loss="continue",
            description="What customers want.",
            owner="sales",
            tags=["money", "daily"],
        )
    [topic] = collected.datasets
    assert replace(topic, origin=HERE) == Topic(
        name=DatasetName("orders"),
        origin=HERE,
        value=Json("id string, placed timestamp"),
        key=("id",),
        key_format=Text(),
        kafka_name=TopicName("shop.orders-v1"),
        partitions=6,
        replication=3,
        retention=timedelta(days=7),
        config={"max.message.bytes": "64000"},
        keys_may_move=True,
        event_time="placed",
        allowed_lateness=timedelta(minutes=90),
        start=StartAt.LATEST,
        most_per_trigger=1000,
        min_partitions=12,
        on_data_loss=DataLoss.CONTINUE,
        description="What customers want.",
        owner="sales",
        tags=("money", "daily"),
    )


def test_a_topic_is_called_in_kafka_as_here_unless_it_says_otherwise() -> None:
    with collecting() as collected:
        ps.topic("orders")
    [topic] = collected.datasets
    assert isinstance(topic, Topic)
    assert topic.kafka_name == "orders"


def test_a_topic_can_be_read_from_a_moment_on() -> None:
    with collecting() as collected:
        ps.topic("a", start=datetime(2026, 5, 1, tzinfo=UTC))
        ps.topic("b", start="2026-05-01T00:00:00Z")
    assert [item.start for item in collected.datasets if isinstance(item, Topic)] == [
        datetime(2026, 5, 1, tzinfo=UTC)
    ] * 2


def test_a_table_is_delta_unless_it_says_otherwise() -> None:
    with collecting() as collected:
        ps.table("a", key=["id", "day"], partition_by="day")
        ps.table("b", format="orc")
    formats = [
        (item.format, item.key, item.partition_by)
        for item in collected.datasets
        if isinstance(item, Table)
    ]
    assert formats == [
        (TableFormat.DELTA, ("id", "day"), ("day",)),
        (TableFormat.ORC, (), ()),
    ]


def test_a_declaration_knows_its_file_and_line() -> None:
    with collecting() as collected:
        ps.rate("ticks")
        line = 123

        @ps.view
        def half(ticks: object) -> object:
            return ticks

    assert line == 123
    ticks, view = (item.origin for item in collected.datasets)
    assert (ticks.file, view.file) == (Path(__file__), Path(__file__))
    lines = Path(__file__).read_text("utf-8").splitlines()
    assert [lines[(item.line or 0) - 1].strip() for item in (ticks, view)] == [
        'ps.rate("ticks")',
        "@ps.view",
    ]


def test_a_view_is_described_by_the_first_line_of_its_docstring() -> None:
    with collecting() as collected:

        @ps.view
        def valid(orders: object) -> object:
            """Orders that have an address.

            And nothing else.
            """
            return orders

    [view] = collected.datasets
    assert isinstance(view, View)
    assert (view.name, view.reads, view.description) == (
        "valid",
        ("orders",),
        "Orders that have an address.",
    )


def test_a_flow_stays_the_function_it_was() -> None:
    @ps.flow(into="doubled")
    def double(numbers: list[int], *, factor: int = 2) -> list[int]:
        return [number * factor for number in numbers]

    assert double([1, 2]) == [2, 4]
    assert double(numbers=[1], factor=3) == [3]


def test_parameters_with_defaults_name_no_datasets() -> None:
    with collecting() as collected:

        @ps.flow(into="shipped")
        def ship(orders: object, limit: int = 3, *, rules: object) -> object:
            return (orders, limit, rules)

    assert [flow.reads for flow in collected.flows] == [("orders", "rules")]


@pytest.mark.parametrize(
    ("trigger", "expected", "mode"),
    [
        (None, Continuously(), OutputMode.APPEND),
        ("10 seconds", Interval(timedelta(seconds=10)), OutputMode.APPEND),
        ("available_now", AvailableNow(), OutputMode.APPEND),
        ("real_time", RealTime(), OutputMode.UPDATE),
    ],
)
def test_triggers_are_written_as_words(
    trigger: str | None, expected: object, mode: OutputMode
) -> None:
    with collecting() as collected:

        @ps.flow(into="b", trigger=trigger)
        def f(a: object) -> object:
            return a

    assert [(flow.trigger, flow.output_mode) for flow in collected.flows] == [(expected, mode)]


def test_a_flow_routes_to_several_targets_or_writes_one() -> None:
    def f(a: object) -> object:
        return a

    with collecting() as collected:
        ps.flow(into="b", name="one")(f)
        ps.flow(into={"hit": "b", "rest": "c"}, name="several")(f)
    assert [(flow.targets, flow.is_routed) for flow in collected.flows] == [
        ({"": "b"}, False),
        ({"hit": "b", "rest": "c"}, True),
    ]


def test_any_callable_can_be_a_flow_if_it_has_a_name() -> None:
    def between(a: object, low: int) -> object:
        return (a, low)

    with collecting() as collected:
        ps.flow(into="b", name="above_3")(partial(between, low=3))
    [flow] = collected.flows
    assert (flow.name, flow.reads, flow.origin.file) == (
        FlowName("above_3"),
        ("a",),
        Path(__file__),
    )


def test_lookups_are_files_datasets_or_functions() -> None:
    with collecting() as collected:
        ps.lookup("rules", ps.csv_file("rules.csv", "id int", separator=";", header=True))
        ps.lookup("prices", "price_table", reload_every=None)

        @ps.lookup("places", key="ip", returns="country string")
        def locate(keys: list[str]) -> dict[str, dict[str, object]]:
            """Where addresses are."""
            return {key: {"country": "FR"} for key in keys}

    rules, prices, places = [item for item in collected.datasets if isinstance(item, Lookup)]
    assert collected.problems == []
    assert rules.source == LookupFile(
        path="rules.csv", format=Csv(schema="id int", separator=";", header=True)
    )
    assert rules.reload_every == timedelta(seconds=10)
    assert (prices.source, prices.reload_every) == ("price_table", None)
    assert places.source == LookupFunction(function=locate, key="ip", schema="country string")
    assert places.description == "Where addresses are."
    assert locate(["a"]) == {"a": {"country": "FR"}}


def test_every_kind_has_the_word_that_users_know() -> None:
    with collecting() as collected:
        ps.topic("a")
        ps.table("b")
        ps.files("c", "in", value=ps.parquet("x int"))
        ps.socket("d", port=9999)
        ps.rate("e")
        ps.lookup("f", "b")
    assert [kind_of(item) for item in collected.datasets] == [
        "topic",
        "table",
        "watched folder",
        "socket",
        "rate source",
        "lookup",
    ]


def test_outside_of_a_project_a_wrong_declaration_is_raised_at_once() -> None:
    with pytest.raises(InvalidDeclarationError) as caught:
        ps.topic("orders", partitions=0, replication=0)
    assert caught.value.message == (
        "topic `orders`: `partitions`: it should be greater than or equal to 1, not `0`"
    )
    assert caught.value.origin is not None
    assert caught.value.origin.file == Path(__file__)


def test_outside_of_a_project_right_declarations_do_nothing() -> None:
    ps.topic("orders")
    ps.lookup("rules")


def test_outside_of_a_project_a_contradiction_is_raised_too() -> None:
    decorate = ps.lookup("rules", ps.json_file("rules.json", "id int"))
    with pytest.raises(DeclarationError) as caught:
        decorate(lambda keys: {})  # noqa: ARG005 - the shape of such functions
    assert caught.value.message == "lookup `rules`: it has both a source and a function"


WRONG = [
    block.rpartition("\n") for block in WRONG_ARGUMENTS.read_text("utf-8").strip().split("\n\n")
]


@pytest.mark.parametrize(("text", "_", "message"), WRONG)
def test_a_wrong_argument_is_told_with_what_was_found(
    tmp_path: Path, text: str, _: str, message: str
) -> None:
    flow = 'ps.topic("a")\nps.topic("b")\n@ps.flow(into="b")\ndef other(a): ...\n'
    [(code, said, hint)] = told(tmp_path, f"{flow}{text}\n")
    argument = message.split("`")[3]
    assert (code, said, hint) == ("PEN-103", message, f"change `{argument}` in this declaration")


def test_all_wrong_arguments_of_a_declaration_are_told(tmp_path: Path) -> None:
    flow = '\nps.topic("b")\n@ps.flow(into="b")\ndef f(t): ...\n'
    found = told(tmp_path, f'ps.topic("t", partitions=0, retention=1, tags=3)  # here{flow}')
    assert [message.split("`")[3] for _, message, _ in found] == ["partitions", "retention", "tags"]


def test_flows_know_their_settings(tmp_path: Path) -> None:
    pipeline = declared(
        tmp_path,
        """
ps.topic("a")
ps.topic("b")

@ps.flow(into="b", conf={"spark.sql.shuffle.partitions": "2"}, output_mode="update")
def f(a):
    "Copies."
""",
    )
    [flow] = pipeline.flows
    assert isinstance(flow, Flow)
    assert (flow.conf, flow.output_mode, flow.description) == (
        {"spark.sql.shuffle.partitions": "2"},
        OutputMode.UPDATE,
        "Copies.",
    )
