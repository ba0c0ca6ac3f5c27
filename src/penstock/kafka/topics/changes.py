"""Changing topics: more partitions, other configs, and deleting them.

Everything is checked before anything is changed: a refusal leaves the topic as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka.cimpl import NewPartitions

from penstock.errors import UsageError
from penstock.kafka.cluster.configs import (
    ConfigSource,
    alter_topic_configs,
    config_changes,
    configs_after,
    ensure_known_configs,
    topic_configs,
)
from penstock.kafka.errors import ClusterError
from penstock.kafka.offsets import TopicPartition
from penstock.kafka.topics.description import ensure_exist, is_internal
from penstock.kafka.topics.key_moves import KeyMove, KeysWouldMoveError, key_move, sample_keys
from penstock.kafka.topics.propagation import await_everywhere
from penstock.names import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka.admin._metadata import ClusterMetadata

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigAlteration, ConfigChange, ConfigEntry
    from penstock.names import TopicName


class FewerPartitionsError(UsageError):
    """Kafka can add partitions to a topic, never remove them."""

    code = "PEN-420"

    def __init__(self, topic: TopicName, *, found: int, asked: int) -> None:
        super().__init__(
            f"topic `{topic}` has {found} partitions and cannot shrink to {asked}",
            hint=f"`penstock topics create` a new topic with {asked} partitions and copy "
            "the records",
        )


class InternalTopicError(UsageError):
    """A topic of Kafka's or Penstock's own, which nobody deletes or empties by accident."""

    code = "PEN-421"

    def __init__(self, topic: TopicName) -> None:
        super().__init__(
            f"topic `{topic}` is internal: the cluster keeps its own state there",
            hint="leave it; whoever must can change it with `penstock topics` (`delete` asks for "
            "`--internal`)",
        )


class PartlyDoneError(ClusterError):
    """A change of several things stopped in the middle."""

    code = "PEN-425"

    def __init__(self, *, done: Sequence[str], fault: ClusterError) -> None:
        super().__init__(
            f"{fault.message}; already done: {', '.join(done)}",
            hint=f"{fault.hint}; then repeat the command for the rest",
        )
        self.done, self.fault = tuple(done), fault


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """What altering a topic has changed."""

    old_partition_count: int
    new_partition_count: int
    key_move: KeyMove | None
    """What the new partitions mean for keys; None when their number stays."""
    configs: tuple[ConfigChange, ...]


def alter_topic(
    admin: Admin,
    name: TopicName,
    *,
    partition_count: int | None = None,
    alterations: Sequence[ConfigAlteration] = (),
    allow_key_move: bool = False,
) -> TopicChange:
    """Give a topic more partitions and other configs.

    Raises:
        UnknownTopicError: the topic does not exist.
        UnknownConfigError: a config does not exist.
        FewerPartitionsError: the topic has more partitions than that.
        KeysWouldMoveError: it has keys, and `allow_key_move` is not given.
        InvalidConfigValueError: the cluster does not accept a value.
    """
    current = _checked(
        admin,
        name,
        partition_count=partition_count,
        alterations=alterations,
        allow_key_move=allow_key_move,
    )
    _apply(admin, name, current, alterations)
    return TopicChange(
        old_partition_count=current.old_count,
        new_partition_count=current.new_count,
        key_move=current.move,
        configs=_config_changes(admin, name, alterations, current.configs),
    )


def ensure_alterable(
    admin: Admin,
    name: TopicName,
    *,
    partition_count: int | None = None,
    alterations: Sequence[ConfigAlteration] = (),
    allow_key_move: bool = False,
) -> None:
    """Check that `alter_topic` with the same arguments would succeed; nothing is changed.

    Raises:
        PenstockError: what `alter_topic` would raise.
    """
    current = _checked(
        admin,
        name,
        partition_count=partition_count,
        alterations=alterations,
        allow_key_move=allow_key_move,
    )
    if current.grows:
        _add_partitions(admin, name, current.new_count, dry_run=True)
    if alterations:
        alter_topic_configs(admin, name, alterations, dry_run=True)


def delete_topics(
    admin: Admin, names: Sequence[TopicName], *, allow_internal: bool = False
) -> None:
    """Delete topics with all their records, and wait until they are gone.

    Raises:
        UnknownTopicError: one of them does not exist; nothing was deleted.
        InternalTopicError: one of them is internal; nothing was deleted.
        PartlyDoneError: the cluster refused in the middle.
    """
    ensure_deletable(admin, names, allow_internal=allow_internal)
    futures = admin.steered_client.delete_topics(
        list(names),
        request_timeout=admin.timeout_seconds,
        operation_timeout=admin.timeout_seconds,
    )
    done: list[str] = []
    faults: list[ClusterError] = []
    for name in names:
        try:
            admin.await_one(futures[name], f"delete topic `{name}`", topic=name)
            done.append(f"`{name}` is deleted")
        except ClusterError as err:
            faults.append(err)
    if faults:
        raise PartlyDoneError(done=done, fault=faults[0]) if done else faults[0]
    await_everywhere(admin, lambda metadata: not set(names) & set(metadata.topics))


def ensure_deletable(
    admin: Admin, names: Sequence[TopicName], *, allow_internal: bool = False
) -> None:
    """Check that topics exist and are not internal.

    Raises:
        UnknownTopicError: one does not exist.
        InternalTopicError: one is internal, and `allow_internal` is not given.
    """
    ensure_exist(admin, names)
    for name in names:
        if is_internal(name) and not allow_internal:
            raise InternalTopicError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    """What a topic is before an alteration that has passed our own checks."""

    configs: tuple[ConfigEntry, ...]
    old_count: int
    new_count: int
    move: KeyMove | None

    @property
    def grows(self) -> bool:
        return self.new_count > self.old_count


def _checked(
    admin: Admin,
    name: TopicName,
    *,
    partition_count: int | None,
    alterations: Sequence[ConfigAlteration],
    allow_key_move: bool,
) -> _Checked:
    ensure_exist(admin, [name])
    configs = topic_configs(admin, [name])[name]
    _ensure_topic_configs(name, alterations, configs)
    old_count = len(admin.metadata().topics[name].partitions)
    new_count = old_count if partition_count is None else partition_count
    move = _checked_move(admin, name, old_count, new_count, allow_key_move=allow_key_move)
    return _Checked(configs=configs, old_count=old_count, new_count=new_count, move=move)


def _ensure_topic_configs(
    name: TopicName, alterations: Sequence[ConfigAlteration], entries: Sequence[ConfigEntry]
) -> None:
    listing = f"penstock topics describe {name} --all-configs"
    ensure_known_configs(
        (item.name for item in alterations), entries, owner="topics", listing=listing
    )


def _checked_move(
    admin: Admin, name: TopicName, old_count: int, new_count: int, *, allow_key_move: bool
) -> KeyMove | None:
    if new_count < old_count:
        raise FewerPartitionsError(name, found=old_count, asked=new_count)
    if new_count == old_count:
        return None
    partitions = [TopicPartition(name, Partition(number)) for number in range(old_count)]
    move = key_move(sample_keys(admin, partitions), old_count=old_count, new_count=new_count)
    if move.key_count and not allow_key_move:
        raise KeysWouldMoveError(name, move)
    return move


def _apply(
    admin: Admin, name: TopicName, current: _Checked, alterations: Sequence[ConfigAlteration]
) -> None:
    count = current.new_count
    if current.grows:
        # Configs are changed first, because they can be changed back. A dry run before that
        # finds out whether the partitions will be refused.
        _add_partitions(admin, name, count, dry_run=True)
    if alterations:
        alter_topic_configs(admin, name, alterations)
    if current.grows:
        _add_partitions(admin, name, count, dry_run=False)
        await_everywhere(admin, lambda metadata: _led_partitions(metadata, name) >= count)


def _add_partitions(admin: Admin, name: TopicName, count: int, *, dry_run: bool) -> None:
    futures = admin.steered_client.create_partitions(
        [NewPartitions(name, count)],
        request_timeout=admin.timeout_seconds,
        operation_timeout=admin.timeout_seconds,
        validate_only=dry_run,
    )
    action = f"give topic `{name}` {count} partitions"
    admin.await_one(futures[name], action, topic=name)


def _config_changes(
    admin: Admin,
    name: TopicName,
    alterations: Sequence[ConfigAlteration],
    old: tuple[ConfigEntry, ...],
) -> tuple[ConfigChange, ...]:
    if not alterations:
        return ()
    new = configs_after(alterations, ConfigSource.TOPIC, lambda: topic_configs(admin, [name])[name])
    return config_changes((item.name for item in alterations), old, new)


def _led_partitions(metadata: ClusterMetadata, name: TopicName) -> int:
    partitions = metadata.topics[name].partitions.values() if name in metadata.topics else ()
    return sum(partition.leader >= 0 for partition in partitions)
