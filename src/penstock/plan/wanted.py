"""What each topic shall be, read from its declaration in Kafka's own terms.

Settings that a declaration leaves out are not wanted to be anything: new topics get the cluster's
defaults for them, existing ones keep what they have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from penstock.errors import Origin
from penstock.names import TopicName
from penstock.pipeline import Flow, Pipeline, Topic
from penstock.plan.stages import ConfigValue

RETENTION = "retention.ms"
CLEANUP = "cleanup.policy"

# Long enough to come back from a holiday, to see them and to send them again.
_DEAD_LETTER_RETENTION = timedelta(days=30)
# A dead letter is a record that fitted into its own topic, plus headers that say what was wrong:
# the limit is far above Kafka's default of 1 MiB, so that it fits here too. It reserves nothing.
_DEAD_LETTER_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTopic:
    """A topic as it is declared; None and absent configs are left to the cluster."""

    name: TopicName
    origin: Origin | None
    external: bool = False
    keep_existing: bool = False
    """Whether a topic of that name that exists is left as it is, whatever it is like."""

    partition_count: int | None = None
    replication_factor: int | None = None
    configs: tuple[ConfigValue, ...] = ()
    keyed: bool = False
    keys_may_move: bool = False


def wanted_topics(pipeline: Pipeline, flows: Sequence[Flow]) -> tuple[WantedTopic, ...]:
    """Return the topics that `flows` need: those declared, then the one for dead letters.

    A project that declares the dead-letter topic itself, to read it, has the last word on it.
    """
    declared = tuple(_wanted(topic) for topic in pipeline.topics(flows))
    if any(topic.name == pipeline.dead_letters for topic in declared):
        return declared
    return (*declared, _dead_letters(pipeline.dead_letters))


def _wanted(topic: Topic) -> WantedTopic:
    return WantedTopic(
        name=topic.kafka_name,
        origin=topic.origin,
        external=topic.external,
        partition_count=topic.partitions,
        replication_factor=topic.replication,
        configs=_configs(topic),
        keyed=bool(topic.key) or topic.compacted,
        keys_may_move=topic.keys_may_move,
    )


def _configs(topic: Topic) -> tuple[ConfigValue, ...]:
    """Return the configs; one that `config` names in Kafka's words beats what follows from others.

    A retention has an effect only where old records are deleted, so it brings that policy along.
    """
    values: dict[str, str] = {}
    if topic.compacted:
        values[CLEANUP] = "compact" if topic.retention is None else "compact,delete"
    elif topic.retention is not None:
        values[CLEANUP] = "delete"
    if topic.retention is not None:
        values[RETENTION] = str(topic.retention // timedelta(milliseconds=1))
    values |= topic.config
    return tuple(ConfigValue(name=name, value=value) for name, value in values.items())


def _dead_letters(name: TopicName) -> WantedTopic:
    retention = str(_DEAD_LETTER_RETENTION // timedelta(milliseconds=1))
    return WantedTopic(
        name=name,
        origin=None,
        keep_existing=True,
        partition_count=1,  # few records, and easiest to read in the order of their failures
        configs=(
            ConfigValue(name=CLEANUP, value="delete"),
            ConfigValue(name=RETENTION, value=retention),
            ConfigValue(name="max.message.bytes", value=str(_DEAD_LETTER_BYTES)),
        ),
    )
