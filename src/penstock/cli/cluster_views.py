"""How `penstock cluster` shows a cluster: its JSON, and the tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import human_bytes, table

if TYPE_CHECKING:
    from penstock.kafka import (
        BrokerDescription,
        ClusterDescription,
        LogDirectory,
        Quorum,
        QuorumMember,
    )

_TOP_TOPICS = 10
_NOT_VISIBLE = "not visible to this client (it needs a PLAINTEXT listener)"


def cluster_payload(cluster: ClusterDescription) -> dict[str, object]:
    """Return everything that is known about a cluster; None stands for what could not be asked."""
    return {
        "cluster_id": cluster.cluster_id,
        "controller": cluster.controller,
        "brokers": [_broker_payload(broker) for broker in cluster.brokers],
        "quorum": None if cluster.quorum is None else _quorum_payload(cluster.quorum),
        "features": None
        if cluster.features is None
        else {feature.name: feature.level for feature in cluster.features},
        "topics": cluster.topic_count,
        "partitions": cluster.partition_count,
        "under_replicated": cluster.under_replicated_count,
        "offline": cluster.offline_count,
        "disk_bytes_by_topic": {usage.topic: usage.disk_bytes for usage in cluster.topics},
    }


def _broker_payload(broker: BrokerDescription) -> dict[str, object]:
    return {
        "id": broker.broker_id,
        "host": broker.host,
        "port": broker.port,
        "rack": broker.rack,
        "reachable": broker.reachable,
        "leaders": broker.leader_count,
        "replicas": broker.replica_count,
        "disk_bytes": broker.disk_bytes,
        "directories": None
        if broker.directories is None
        else [_directory_payload(directory) for directory in broker.directories],
    }


def _directory_payload(directory: LogDirectory) -> dict[str, object]:
    return {
        "path": directory.path,
        "failed": directory.failed,
        "used_bytes": directory.used_bytes,
        "usable_bytes": directory.usable_bytes,
        "total_bytes": directory.total_bytes,
    }


def _quorum_payload(quorum: Quorum) -> dict[str, object]:
    return {
        "leader": quorum.leader,
        "leader_epoch": quorum.leader_epoch,
        "high_watermark": quorum.high_watermark,
        "voters": [_member_payload(member) for member in quorum.voters],
        "observers": [_member_payload(member) for member in quorum.observers],
    }


def _member_payload(member: QuorumMember) -> dict[str, object]:
    return {
        "id": member.node_id,
        "log_end_offset": member.log_end,
        "lag": member.lag,
        "last_caught_up": member.last_caught_up,
    }


def print_cluster(cluster: ClusterDescription) -> None:
    """Print a cluster for people."""
    click.echo(f"cluster {cluster.cluster_id}")
    click.echo(
        f"  {cluster.topic_count} topics, {cluster.partition_count} partitions, "
        f"{cluster.under_replicated_count} under-replicated, {cluster.offline_count} offline\n"
    )
    _print_brokers(cluster)
    _print_quorum(cluster.quorum)
    _print_features(cluster)
    _print_usage(cluster)


def _print_brokers(cluster: ClusterDescription) -> None:
    table(
        ["broker", "address", "rack", "up", "leaders", "replicas", "used", "free"],
        [
            [
                broker.broker_id,
                f"{broker.host}:{broker.port}",
                broker.rack,
                broker.reachable,
                broker.leader_count,
                broker.replica_count,
                _bytes(broker.disk_bytes),
                _bytes(_free_bytes(broker)),
            ]
            for broker in cluster.brokers
        ],
    )


def _print_quorum(quorum: Quorum | None) -> None:
    if quorum is None:
        click.echo(f"\ncontroller quorum: {_NOT_VISIBLE}")
        return
    click.echo(f"\ncontroller {quorum.leader}, epoch {quorum.leader_epoch}")
    voters = [("voter", member) for member in quorum.voters]
    observers = [("observer", member) for member in quorum.observers]
    table(
        ["node", "role", "log end", "lag", "last level with the leader"],
        [
            [member.node_id, role, member.log_end, member.lag, member.last_caught_up]
            for role, member in [*voters, *observers]
        ],
    )


def _print_features(cluster: ClusterDescription) -> None:
    if cluster.features is None:
        click.echo(f"\nfeatures: {_NOT_VISIBLE}")
        return
    levels = ", ".join(f"{feature.name}={feature.level}" for feature in cluster.features)
    click.echo(f"\nfeatures: {levels or 'none finalized'}")


def _print_usage(cluster: ClusterDescription) -> None:
    if all(broker.directories is None for broker in cluster.brokers):
        click.echo(f"\ndisk usage: {_NOT_VISIBLE}")
        return
    click.echo(f"\nlargest topics, all replicas ({len(cluster.topics)} in all)")
    rows = [[usage.topic, human_bytes(usage.disk_bytes)] for usage in cluster.topics[:_TOP_TOPICS]]
    table(["topic", "on disk"], rows)


def _free_bytes(broker: BrokerDescription) -> int | None:
    """Return the space left, the fullest volume counting: several folders may share one."""
    free = [
        directory.usable_bytes
        for directory in broker.directories or ()
        if directory.usable_bytes is not None
    ]
    return min(free, default=None)


def _bytes(count: int | None) -> str:
    return "-" if count is None else human_bytes(count)
