"""What Spark sessions are opened with."""

import os

import pytest

from penstock.engine import ChosenBy, SessionShape, session_conf, session_settings, session_shape
from penstock.engine.spark_settings import default_master, shuffle_partitions, task_slots
from penstock.settings import Location, SparkSettings


def shape(master: str = "local[2,4]", conf: dict[str, str] | None = None) -> SessionShape:
    return SessionShape(master=master, driver_memory_mb=1024, warehouse="/tables", conf=conf or {})


@pytest.mark.parametrize(
    ("slots", "topic_partitions", "expected"),
    [
        (2, None, 2),
        (2, 12, 2),
        (16, 3, 3),
        (16, 1, 2),
        (1, 1, 1),
        (None, 12, 12),
        (None, None, 8),
    ],
)
def test_there_are_no_more_shuffle_partitions_than_can_be_of_use(
    slots: int | None, topic_partitions: int | None, expected: int
) -> None:
    assert shuffle_partitions(slots, topic_partitions) == expected


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", 1),
        ("local[3]", 3),
        ("local[3,4]", 3),
        ("local[3, 4]", 3),
        ("local[*]", os.cpu_count()),
        ("yarn", None),
        ("spark://host:7077", None),
    ],
)
def test_a_local_master_says_how_many_tasks_run_at_once(master: str, expected: int | None) -> None:
    assert task_slots(master) == expected


def test_the_default_master_retries_tasks_as_a_cluster_does() -> None:
    slots = task_slots(default_master())
    assert default_master() == f"local[{slots},4]"


def test_what_the_user_sets_wins_and_is_marked() -> None:
    found = session_settings(
        shape(conf={"spark.ui.enabled": "true", "spark.executor.memory": "4g"})
    )

    theirs = [item for item in found if item.chosen_by is ChosenBy.USER]
    assert [(item.key, item.value, item.replaced) for item in theirs] == [
        ("spark.executor.memory", "4g", None),
        ("spark.ui.enabled", "true", "false"),
    ]
    assert session_conf(found)["spark.ui.enabled"] == "true"


def test_every_setting_of_ours_has_a_reason_and_stands_once() -> None:
    found = session_settings(shape())
    assert [item.key for item in found] == sorted({item.key for item in found})
    assert [item.key for item in found if not item.reason] == []


def test_only_a_local_spark_keeps_to_this_machine() -> None:
    local, cluster = session_conf(session_settings(shape())), session_settings(shape("yarn"))
    assert local["spark.driver.bindAddress"] == "127.0.0.1"
    assert not {"spark.driver.bindAddress", "spark.driver.host"} & session_conf(cluster).keys()


def test_only_workers_that_surely_have_penstock_are_forked_from_its_own_daemon() -> None:
    key = "spark.python.daemon.module"
    assert key in session_conf(session_settings(shape()))
    assert key not in session_conf(session_settings(shape("spark://127.0.0.1:7077")))
    elsewhere = {"spark.pyspark.python": "/opt/python"}
    assert key not in session_conf(session_settings(shape(conf=elsewhere)))


def test_what_a_checkpoint_freezes_is_marked_even_when_only_the_user_sets_it() -> None:
    key = "spark.sql.streaming.stateStore.encodingFormat"
    found = {item.key: item.frozen for item in session_settings(shape(conf={key: "avro"}))}
    assert (found[key], found["spark.sql.shuffle.partitions"], found["spark.ui.enabled"]) == (
        True,
        True,
        False,
    )


def test_settings_become_the_shape_of_a_session() -> None:
    settings = SparkSettings(
        master="local[3]",
        driver_memory_mb=512,
        warehouse=Location("/tables"),
        conf={"spark.ui.enabled": "true"},
    )
    assert session_shape(settings) == SessionShape(
        master="local[3]",
        driver_memory_mb=512,
        warehouse="/tables",
        conf={"spark.ui.enabled": "true"},
    )
