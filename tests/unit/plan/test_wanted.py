"""Declarations of topics in Kafka's terms."""

from dataclasses import replace
from datetime import timedelta

from penstock.pipeline import Pipeline
from penstock.plan.wanted import WantedTopic, wanted_topics
from support.declared import declared_topic, pipeline_of

ORDERS, COPIES = declared_topic("orders"), declared_topic("copies", kafka_name="shop.copies")


def wanted_of(pipeline: Pipeline) -> tuple[WantedTopic, ...]:
    return wanted_topics(pipeline, pipeline.flows)


def values_of(topic: WantedTopic) -> dict[str, str]:
    return {item.name: item.value for item in topic.configs}


def test_settings_become_configs_and_what_is_left_out_stays_open() -> None:
    declared = replace(
        ORDERS, retention=timedelta(days=2), config={"compression.type": "zstd"}, partitions=3
    )

    orders, copies, _ = wanted_of(pipeline_of(declared, COPIES))

    assert (orders.name, orders.partition_count, orders.replication_factor) == ("orders", 3, None)
    assert values_of(orders) == {
        "cleanup.policy": "delete",
        "retention.ms": "172800000",
        "compression.type": "zstd",
    }
    assert (copies.name, copies.partition_count, copies.configs, copies.keyed) == (
        "shop.copies",
        None,
        (),
        False,
    )


def test_a_compacted_topic_with_a_retention_is_both_compacted_and_deleted() -> None:
    compacted = replace(ORDERS, key=("id",), compacted=True)
    both = replace(COPIES, key=("id",), compacted=True, retention=timedelta(days=1))

    first, second, _ = wanted_of(pipeline_of(compacted, both))

    assert values_of(first) == {"cleanup.policy": "compact"}
    assert values_of(second) == {"cleanup.policy": "compact,delete", "retention.ms": "86400000"}
    assert first.keyed


def test_kafkas_own_names_have_the_last_word() -> None:
    declared = replace(ORDERS, retention=timedelta(days=1), config={"retention.ms": "-1"})

    assert values_of(wanted_of(pipeline_of(declared))[0])["retention.ms"] == "-1"


def test_dead_letters_have_a_topic_that_keeps_them_for_a_month() -> None:
    *_, letters = wanted_of(pipeline_of(ORDERS, COPIES))

    assert (letters.name, letters.partition_count) == ("shop.deadletters", 1)
    assert letters.keep_existing
    assert values_of(letters) == {
        "cleanup.policy": "delete",
        "retention.ms": str(30 * 24 * 3600 * 1000),
        "max.message.bytes": "16777216",
    }


def test_a_project_that_declares_its_dead_letters_has_the_last_word() -> None:
    letters = replace(declared_topic("letters", kafka_name="shop.deadletters"), partitions=2)

    first, second = wanted_of(pipeline_of(letters, COPIES))

    assert (first.name, first.partition_count, first.keep_existing) == (
        "shop.deadletters",
        2,
        False,
    )
    assert second.name == "shop.copies"


def test_only_topics_of_the_chosen_flows_are_wanted() -> None:
    pipeline = pipeline_of(ORDERS, COPIES, declared_topic("far"))

    wanted = wanted_topics(pipeline, pipeline.flows[:1])

    assert [topic.name for topic in wanted] == ["orders", "shop.copies", "shop.deadletters"]
