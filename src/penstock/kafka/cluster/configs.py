"""Configs of topics and brokers: their values, where each comes from, and changing them.

The cluster-wide defaults of brokers are in `cluster_defaults.py`: the client cannot name them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka.admin._config import AlterConfigOpType, ConfigResource
from confluent_kafka.admin._config import ConfigEntry as ClientEntry
from confluent_kafka.admin._config import ConfigSource as ClientSource
from confluent_kafka.admin._resource import ResourceType

from penstock.errors import UsageError
from penstock.kafka.errors import NotAuthorizedError, RequestRefusedError
from penstock.names import BrokerId, TopicName, nearest
from penstock.settings import MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from penstock.kafka.admin import Admin

_SETTLING_SECONDS = 3.0
_PAUSE_SECONDS = 0.05


class UnknownConfigError(UsageError):
    """A config of that name does not exist for topics, or for brokers."""

    code = "PEN-416"

    def __init__(self, name: str, *, owner: str, known: Iterable[str], listing: str) -> None:
        close = nearest(name, known)
        super().__init__(
            f"`{name}` is not a config of {owner}",
            hint=f"did you mean `{close}`?" if close else f"`{listing}` lists them all",
        )
        self.name = name


class ReadOnlyConfigError(UsageError):
    """A broker config that only a restart can change."""

    code = "PEN-422"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"`{name}` cannot be changed while the broker runs",
            hint=f"set `{name}` in the broker's properties file and restart it",
        )
        self.name = name


class InvalidConfigValueError(RequestRefusedError):
    """The cluster does not accept the value of a config."""

    code = "PEN-426"


class ConfigSource(StrEnum):
    """Where the value of a config comes from, the strongest first."""

    TOPIC = "topic"
    BROKER = "broker"
    CLUSTER = "all brokers"
    FILE = "broker's file"
    DEFAULT = "default"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """One config with its value in force. Kafka gives no values of sensitive ones."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool

    @property
    def shown(self) -> str | None:
        """The value as it may be shown: sensitive ones are masked."""
        if self.sensitive and self.source is not ConfigSource.DEFAULT:
            return MASK
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigAlteration:
    """A config to set, or with `value` None to remove, so that a weaker source shows again."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """What an alteration did to the value in force."""

    name: str
    old: ConfigEntry | None
    new: ConfigEntry | None

    def __str__(self) -> str:
        """Return what was and what is in force, secrets masked."""
        old, new = (
            "nothing" if entry is None or entry.shown is None else entry.shown
            for entry in (self.old, self.new)
        )
        return f"`{self.name}` from {old} to {new}"


SOURCES = {
    ClientSource.DYNAMIC_TOPIC_CONFIG: ConfigSource.TOPIC,
    ClientSource.DYNAMIC_BROKER_CONFIG: ConfigSource.BROKER,
    ClientSource.DYNAMIC_DEFAULT_BROKER_CONFIG: ConfigSource.CLUSTER,
    ClientSource.STATIC_BROKER_CONFIG: ConfigSource.FILE,
    ClientSource.DEFAULT_CONFIG: ConfigSource.DEFAULT,
}


def topic_configs(
    admin: Admin, topics: Collection[TopicName]
) -> dict[TopicName, tuple[ConfigEntry, ...]]:
    """Return all configs of each topic by name, in one request.

    Raises:
        UnknownTopicError: one of the topics does not exist.
        NotAuthorizedError: this user may not see the configs of one of them.
    """
    return {topic: answer() for topic, answer in _asked_configs(admin, topics).items()}


def visible_topic_configs(
    admin: Admin, topics: Collection[TopicName]
) -> dict[TopicName, tuple[ConfigEntry, ...]]:
    """Return the configs of each topic; none where this user may not see them."""

    def visible(answer: Callable[[], tuple[ConfigEntry, ...]]) -> tuple[ConfigEntry, ...]:
        try:
            return answer()
        except NotAuthorizedError:
            return ()

    return {topic: visible(answer) for topic, answer in _asked_configs(admin, topics).items()}


def _asked_configs(
    admin: Admin, topics: Collection[TopicName]
) -> dict[TopicName, Callable[[], tuple[ConfigEntry, ...]]]:
    """Ask for the configs of all topics, and return for each how to await its answer."""
    if not topics:
        return {}

    def awaited(topic: str, future: Future[dict[str, ClientEntry]]) -> tuple[ConfigEntry, ...]:
        action = f"describe the configs of topic `{topic}`"
        entries = admin.await_one(future, action, topic=topic)
        return _entries(entries)

    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    futures = admin.steered_client.describe_configs(
        resources, request_timeout=admin.timeout_seconds
    )
    return {
        TopicName(resource.name): partial(awaited, resource.name, future)
        for resource, future in futures.items()
    }


def broker_configs(admin: Admin, broker: BrokerId) -> tuple[ConfigEntry, ...]:
    """Return all configs of a running broker by name.

    Ask only for brokers in the metadata: the client waits for others until it times out.
    """
    resource = ConfigResource(ResourceType.BROKER, str(broker))
    futures = admin.client.describe_configs([resource], request_timeout=admin.timeout_seconds)
    return _entries(admin.await_one(futures[resource], f"describe the configs of broker {broker}"))


def alter_topic_configs(
    admin: Admin,
    topic: TopicName,
    alterations: Sequence[ConfigAlteration],
    *,
    dry_run: bool = False,
) -> None:
    """Set and remove configs of one topic, all or none of them.

    Raises:
        InvalidConfigValueError: the cluster does not accept a value; nothing was changed.
        UnknownTopicError: the topic does not exist.
    """
    resource = _altered(ResourceType.TOPIC, topic, alterations)
    _apply(admin, resource, f"change the configs of topic `{topic}`", topic, dry_run=dry_run)


def alter_broker_configs(
    admin: Admin, broker: BrokerId, alterations: Sequence[ConfigAlteration]
) -> None:
    """Set and remove dynamic configs of one broker, all or none of them.

    Brokers accept any name without a word: check it with `ensure_known_configs` before.

    Raises:
        InvalidConfigValueError: the broker does not accept a value; nothing was changed.
    """
    resource = _altered(ResourceType.BROKER, str(broker), alterations)
    _apply(admin, resource, f"change the configs of broker {broker}", None, dry_run=False)


def ensure_known_configs(
    names: Iterable[str], entries: Iterable[ConfigEntry], *, owner: str, listing: str
) -> None:
    """Check names of configs against what the owner has.

    Raises:
        UnknownConfigError: with the nearest name.
    """
    known = {entry.name for entry in entries}
    for name in names:
        if name not in known:
            raise UnknownConfigError(name, owner=owner, known=known, listing=listing)


def ensure_dynamic_configs(names: Iterable[str], entries: Iterable[ConfigEntry]) -> None:
    """Check that configs can be changed while the broker runs.

    Raises:
        ReadOnlyConfigError: for the first that cannot.
    """
    # A name that no broker knows can be set all the same; then it counts as read-only, and
    # removing it must stay possible.
    dynamic = (ConfigSource.BROKER, ConfigSource.CLUSTER)
    read_only = {entry.name for entry in entries if entry.read_only and entry.source not in dynamic}
    for name in names:
        if name in read_only:
            raise ReadOnlyConfigError(name)


def configs_after(
    alterations: Sequence[ConfigAlteration],
    source: ConfigSource,
    read: Callable[[], tuple[ConfigEntry, ...]],
) -> tuple[ConfigEntry, ...]:
    """Return what `read` gives once the alterations show in it.

    Brokers learn of a change a moment after the controller has said yes, and of a removal the
    new source a moment before the new value: only what two readings agree on counts. What does
    not show within seconds is returned as it is: Kafka may write a value in another way.
    """
    deadline = time.monotonic() + _SETTLING_SECONDS
    previous: tuple[ConfigEntry, ...] = ()
    while True:
        entries = read()
        by_name = {entry.name: entry for entry in entries}
        shows = all(_shows(by_name.get(item.name), item, source) for item in alterations)
        if (shows and entries == previous) or time.monotonic() > deadline:
            return entries
        previous = entries
        time.sleep(_PAUSE_SECONDS)


def _shows(entry: ConfigEntry | None, alteration: ConfigAlteration, source: ConfigSource) -> bool:
    if alteration.value is None:
        return entry is None or entry.source is not source
    return entry is not None and (entry.sensitive or entry.value == alteration.value)


def config_changes(
    names: Iterable[str], old: Iterable[ConfigEntry], new: Iterable[ConfigEntry]
) -> tuple[ConfigChange, ...]:
    """Return for each name what was in force before and what is now."""
    before = {entry.name: entry for entry in old}
    after = {entry.name: entry for entry in new}
    return tuple(
        ConfigChange(name=name, old=before.get(name), new=after.get(name)) for name in names
    )


def _entries(answer: Mapping[str, ClientEntry]) -> tuple[ConfigEntry, ...]:
    return tuple(
        ConfigEntry(
            name=entry.name,
            value=entry.value,
            source=SOURCES.get(ClientSource(entry.source), ConfigSource.UNKNOWN),
            read_only=entry.is_read_only,
            sensitive=entry.is_sensitive,
        )
        for entry in sorted(answer.values(), key=lambda entry: entry.name)
    )


def _altered(
    kind: ResourceType, name: str, alterations: Sequence[ConfigAlteration]
) -> ConfigResource:
    entries = [
        ClientEntry(
            alteration.name,
            alteration.value,
            incremental_operation=AlterConfigOpType.DELETE
            if alteration.value is None
            else AlterConfigOpType.SET,
        )
        for alteration in alterations
    ]
    return ConfigResource(kind, name, incremental_configs=entries)


def _apply(
    admin: Admin, resource: ConfigResource, action: str, topic: TopicName | None, *, dry_run: bool
) -> None:
    futures = admin.steered_client.incremental_alter_configs(
        [resource], request_timeout=admin.timeout_seconds, validate_only=dry_run
    )
    try:
        admin.await_one(futures[resource], action, topic=topic)
    except RequestRefusedError as err:
        raise InvalidConfigValueError(action, reason=err.reason) from err.__cause__
