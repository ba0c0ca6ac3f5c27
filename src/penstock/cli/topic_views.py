"""How `penstock topics` shows topics: the JSON of each answer, and the tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.config_views import changes_payload, config_payload, print_changes, print_configs
from penstock.cli.rendering import human_bytes, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.kafka import PartitionDescription, PartitionPurge, TopicChange, TopicDescription
    from penstock.names import TopicName


def topic_payload(topic: TopicDescription) -> dict[str, object]:
    """Return the fields of a topic in a list."""
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replication_factor": topic.replication_factor,
        "under_replicated": topic.under_replicated_count,
        "offline": topic.offline_count,
        "offsets": topic.span,
        "size_bytes": topic.size_bytes,
        "disk_bytes": topic.disk_bytes,
        "cleanup_policy": topic.cleanup_policy,
    }


def description_payload(
    topic: TopicDescription, *, rate: float | None, all_configs: bool
) -> dict[str, object]:
    """Return the fields of a topic by itself."""
    return topic_payload(topic) | {
        "partitions": [_partition_payload(partition) for partition in topic.partitions],
        "records_per_second": None if rate is None else round(rate, 2),
        "configs": config_payload(topic.configs, defaults=all_configs),
    }


def _partition_payload(partition: PartitionDescription) -> dict[str, object]:
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "replicas": partition.replicas,
        "in_sync": partition.in_sync,
        "first_offset": partition.first,
        "end_offset": partition.end,
        "size_bytes": partition.size_bytes,
    }


def print_topics(topics: Sequence[TopicDescription]) -> None:
    """Print a line per topic."""
    table(
        ["topic", "partitions", "replicas", "in sync", "offsets", "on disk", "cleanup"],
        [
            [
                topic.name,
                len(topic.partitions),
                topic.replication_factor,
                _health(topic),
                topic.span,
                shown_bytes(topic.disk_bytes),
                topic.cleanup_policy or None,
            ]
            for topic in topics
        ],
    )


def _health(topic: TopicDescription) -> str:
    if topic.offline_count:
        return f"{topic.offline_count} offline"
    if topic.under_replicated_count:
        return f"{topic.under_replicated_count} under-replicated"
    return "all"


def print_description(
    topic: TopicDescription, *, rate: float | None, window: str, all_configs: bool
) -> None:
    """Print a topic with its partitions and configs."""
    click.echo(f"{topic.name}  id {topic.topic_id}" + ("  internal" if topic.internal else ""))
    facts = [
        f"{len(topic.partitions)} partitions",
        f"replication {topic.replication_factor}",
        f"in sync: {_health(topic)}",
        f"{shown_bytes(topic.disk_bytes)} on disk",
    ]
    if rate is not None:
        facts.append(f"{rate:.1f} records/s over {window}")
    click.echo(f"  {', '.join(facts)}\n")
    table(
        ["partition", "leader", "replicas", "in sync", "first", "end", "offsets", "size"],
        [_partition_row(partition) for partition in topic.partitions],
    )
    click.echo()
    print_configs(topic.configs, defaults=all_configs)


def _partition_row(partition: PartitionDescription) -> list[object]:
    return [
        partition.partition,
        partition.leader,
        partition.replicas,
        partition.in_sync,
        partition.first,
        partition.end,
        partition.span,
        shown_bytes(partition.size_bytes),
    ]


def change_payload(name: TopicName, change: TopicChange) -> dict[str, object]:
    """Return what altering a topic has changed."""
    move = change.key_move
    return {
        "name": name,
        "partitions": {"old": change.old_partition_count, "new": change.new_partition_count},
        "keys_moved": None
        if move is None
        else {
            "sampled_records": move.record_count,
            "keys": move.key_count,
            "moved": move.moved_keys,
            "share": round(move.share, 4),
        },
        "configs": changes_payload(change.configs),
    }


def print_change(name: TopicName, change: TopicChange) -> None:
    """Print what altering a topic has changed, old → new."""
    if change.new_partition_count != change.old_partition_count:
        click.echo(
            f"{name}: partitions {change.old_partition_count} → {change.new_partition_count}"
        )
    move = change.key_move
    if move is not None and move.key_count:
        click.echo(
            f"{name}: {move.moved_keys} of {move.key_count} sampled keys ({move.share:.0%}) "
            "now belong to another partition",
            err=True,
        )
    print_changes(name, change.configs)


def print_deletion(topics: Sequence[TopicDescription]) -> None:
    """Print what deleting topics would take away."""
    table(
        ["topic", "partitions", "offsets", "on disk"],
        [
            [topic.name, len(topic.partitions), topic.span, shown_bytes(topic.disk_bytes)]
            for topic in topics
        ],
    )


def purge_payload(name: TopicName, plan: Sequence[PartitionPurge]) -> Mapping[str, object]:
    """Return what a purge does to each partition."""
    return {
        "name": name,
        "partitions": [
            {
                "partition": item.partition,
                "first_offset": item.first,
                "new_first_offset": item.new_first,
                "end_offset": item.end,
            }
            for item in plan
        ],
    }


def print_purge(plan: Sequence[PartitionPurge]) -> None:
    """Print what a purge would do to each partition."""
    table(
        ["partition", "first", "new first", "end", "offsets to delete"],
        [[item.partition, item.first, item.new_first, item.end, item.span] for item in plan],
    )


def shown_bytes(count: int | None) -> str:
    """Return a size for people; `-` when nobody could say."""
    return "-" if count is None else human_bytes(count)
