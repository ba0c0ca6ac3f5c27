"""Topics as code on a real broker: planned, applied, planned again."""

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from penstock.events import Event, StepFinished, StepStarted
from penstock.kafka import (
    Admin,
    ConfigAlteration,
    TopicDescription,
    UnknownTopicError,
    alter_topic,
    create_topic,
    describe_topics,
    topic_names,
)
from penstock.names import TopicName
from penstock.pipeline import Topic
from penstock.plan import (
    AddPartitions,
    AlterTopicConfig,
    ConfigDifference,
    CreateTopic,
    InvalidPlanError,
    PlanInterruptedError,
    TopicAppearedError,
    TopicPlan,
    apply_stages,
    describe,
    plan_topics,
)
from support.declared import ORIGIN, declared_topic, pipeline_of
from support.producing import Sent, send


def new_topic() -> Topic:
    return declared_topic("orders", kafka_name=f"test-{uuid4().hex}")


def new_pipeline_name() -> str:
    return f"shop{uuid4().hex}"


def planned(admin: Admin, *topics: Topic, pipeline: str | None = None) -> TopicPlan:
    declared = pipeline_of(*topics, name=pipeline or new_pipeline_name())
    return plan_topics(admin, declared, declared.flows)


def found(admin: Admin, topic: Topic | str) -> TopicDescription:
    name = TopicName(topic) if isinstance(topic, str) else topic.kafka_name
    return describe_topics(admin, [name])[0]


def problem_codes(admin: Admin, *topics: Topic) -> list[str]:
    with pytest.raises(InvalidPlanError) as caught:
        planned(admin, *topics)
    assert all(problem.origin == ORIGIN for problem in caught.value.problems)
    return [problem.code for problem in caught.value.problems]


def test_what_is_declared_is_created_and_then_nothing_is_left_to_do(admin: Admin) -> None:
    pipeline = new_pipeline_name()
    topic = replace(
        new_topic(),
        partitions=2,
        replication=1,
        retention=timedelta(hours=1),
        config={"compression.type": "zstd"},
    )
    events: list[Event] = []

    plan = planned(admin, topic, pipeline=pipeline)
    apply_stages(plan.stages, admin, events.append)

    created = found(admin, topic)
    assert (len(created.partitions), created.replication_factor) == (2, 1)
    assert created.config("retention.ms") == "3600000"
    assert created.config("compression.type") == "zstd"
    letters = found(admin, f"{pipeline}.deadletters")
    assert (len(letters.partitions), letters.config("retention.ms")) == (1, "2592000000")
    lines = [describe(stage) for stage in plan.stages]
    assert events == [
        StepStarted(step=lines[0]),
        StepFinished(step=lines[0]),
        StepStarted(step=lines[1]),
        StepFinished(step=lines[1]),
    ]
    assert planned(admin, topic, pipeline=pipeline) == TopicPlan(stages=())


def test_a_topic_without_settings_gets_the_clusters_defaults(admin: Admin) -> None:
    topic = new_topic()

    apply_stages(planned(admin, topic).stages, admin)

    assert len(found(admin, topic).partitions) == 1


def test_an_existing_topic_is_altered_where_it_differs_and_nowhere_else(admin: Admin) -> None:
    topic = new_topic()
    create_topic(
        admin,
        topic.kafka_name,
        partition_count=2,
        config={"retention.ms": "60000", "segment.bytes": "20000000"},
    )
    declared = replace(topic, partitions=3, config={"retention.ms": "70000"})

    *stages, _ = planned(admin, declared).stages
    apply_stages(stages, admin)

    assert stages == [
        AlterTopicConfig(
            topic=topic.kafka_name,
            differences=(ConfigDifference(name="retention.ms", old="60000", new="70000"),),
        ),
        AddPartitions(topic=topic.kafka_name, old_count=2, new_count=3, keys_may_move=False),
    ]
    altered = found(admin, topic)
    assert len(altered.partitions) == 3
    assert (altered.config("retention.ms"), altered.config("segment.bytes")) == (
        "70000",
        "20000000",
    )


def test_applying_twice_does_no_harm(admin: Admin) -> None:
    topic = new_topic()
    stages = (
        CreateTopic(topic=topic.kafka_name, partition_count=1, replication_factor=1),
        AlterTopicConfig(
            topic=topic.kafka_name,
            differences=(ConfigDifference(name="retention.ms", old=None, new="5000"),),
        ),
    )
    grown = AddPartitions(topic=topic.kafka_name, old_count=1, new_count=2, keys_may_move=False)

    apply_stages((*stages, grown), admin)
    apply_stages((stages[1], grown), admin)

    assert len(found(admin, topic).partitions) == 2
    assert found(admin, topic).config("retention.ms") == "5000"


def test_a_dead_letter_topic_that_somebody_changed_stays_as_it_is(admin: Admin) -> None:
    pipeline, topic = new_pipeline_name(), new_topic()
    apply_stages(planned(admin, topic, pipeline=pipeline).stages, admin)
    letters = TopicName(f"{pipeline}.deadletters")
    forever = ConfigAlteration(name="retention.ms", value="-1")
    alter_topic(admin, letters, partition_count=2, alterations=[forever])

    assert planned(admin, topic, pipeline=pipeline).stages == ()


def test_an_external_topic_is_left_alone(admin: Admin) -> None:
    topic = new_topic()
    create_topic(admin, topic.kafka_name, partition_count=1)
    external = replace(topic, external=True, partitions=4, retention=timedelta(hours=1))

    (letters,) = planned(admin, external).stages

    assert isinstance(letters, CreateTopic)
    assert letters.topic.endswith(".deadletters")


def test_all_problems_are_told_together_and_nothing_is_changed(admin: Admin) -> None:
    small = replace(declared_topic("small", kafka_name=f"test-{uuid4().hex}"), partitions=1)
    create_topic(admin, small.kafka_name, partition_count=2)
    keyed = declared_topic("keyed", kafka_name=f"test-{uuid4().hex}")
    create_topic(admin, keyed.kafka_name, partition_count=1)
    fresh = declared_topic("fresh", kafka_name=f"test-{uuid4().hex}")

    def called(name: str) -> Topic:
        return declared_topic(name, kafka_name=f"test-{uuid4().hex}")

    codes = problem_codes(
        admin,
        small,
        replace(keyed, key=("host",), partitions=2),
        replace(called("absent"), external=True),
        replace(called("wide"), replication=2),
        replace(called("misspelt"), config={"retention": "1"}),
        replace(called("wrong"), config={"retention.ms": "soon"}),
        fresh,
    )

    assert codes == ["PEN-202", "PEN-203", "PEN-201", "PEN-204", "PEN-205", "PEN-205"]
    assert fresh.kafka_name not in topic_names(admin)
    assert len(found(admin, keyed).partitions) == 1


def test_a_misspelt_config_of_an_existing_topic_comes_with_the_right_name(admin: Admin) -> None:
    topic = new_topic()
    create_topic(admin, topic.kafka_name, partition_count=1)

    with pytest.raises(InvalidPlanError) as caught:
        planned(admin, replace(topic, config={"retention.msec": "1"}))

    assert caught.value.problems[0].hint == "did you mean `retention.ms`?"


def test_keys_that_nobody_declared_are_found_in_the_records(admin: Admin) -> None:
    topic = new_topic()
    create_topic(admin, topic.kafka_name, partition_count=1)
    send(admin.connection, topic.kafka_name, [Sent(key=str(number)) for number in range(20)])
    grown = replace(topic, partitions=4)

    with pytest.raises(InvalidPlanError) as caught:
        planned(admin, grown)
    apply_stages(planned(admin, replace(grown, keys_may_move=True)).stages, admin)

    assert [problem.code for problem in caught.value.problems] == ["PEN-203"]
    assert "of 20 in its latest records move" in caught.value.problems[0].message
    assert len(found(admin, topic).partitions) == 4


def test_a_fitting_topic_that_somebody_created_meanwhile_is_accepted(admin: Admin) -> None:
    topic = replace(new_topic(), partitions=2, config={"retention.ms": "5000"})
    plan = planned(admin, topic)
    create_topic(admin, topic.kafka_name, partition_count=2, config={"retention.ms": "5000"})

    apply_stages(plan.stages, admin)

    assert len(found(admin, topic).partitions) == 2


def test_another_topic_that_somebody_created_meanwhile_is_refused(admin: Admin) -> None:
    topic = replace(new_topic(), partitions=2, config={"retention.ms": "5000"})
    plan = planned(admin, topic)
    create_topic(admin, topic.kafka_name, partition_count=3)

    with pytest.raises(TopicAppearedError) as caught:
        apply_stages(plan.stages, admin)

    assert caught.value.message == (
        f"topic `{topic.kafka_name}` has been created by somebody else meanwhile, with "
        "partitions 3 instead of 2, retention.ms 604800000 instead of 5000"
    )


def test_a_failure_midway_says_what_is_done_and_what_is_left(admin: Admin) -> None:
    topic, gone = new_topic(), TopicName(f"test-{uuid4().hex}")
    made = CreateTopic(topic=topic.kafka_name, partition_count=1, replication_factor=1)
    missing = AddPartitions(topic=gone, old_count=1, new_count=2, keys_may_move=False)
    never = replace(missing, topic=TopicName("never"))

    with pytest.raises(PlanInterruptedError) as caught:
        apply_stages((made, missing, never), admin)

    assert isinstance(caught.value.fault, UnknownTopicError)
    assert (caught.value.done, caught.value.left) == ((describe(made),), (describe(never),))
    assert describe(made) in caught.value.message
    assert found(admin, topic).partitions


def test_a_failure_of_the_first_stage_is_told_as_it_is(admin: Admin) -> None:
    stage = AddPartitions(
        topic=TopicName(f"test-{uuid4().hex}"), old_count=1, new_count=2, keys_may_move=False
    )

    with pytest.raises(UnknownTopicError):
        apply_stages((stage,), admin)
