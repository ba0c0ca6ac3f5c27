"""What `penstock groups` shows of descriptions and plans: tables and notes, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import (
        GroupDescription,
        Member,
        OffsetChange,
        PartitionLag,
        ResetPlan,
    )


def print_descriptions(found: Sequence[GroupDescription]) -> None:
    """Print each group: a line about it, its members, its partitions and what to know of them."""
    for index, item in enumerate(found):
        if index:
            click.echo()
        _print_description(item)


def description_payload(item: GroupDescription) -> dict[str, object]:
    """Return a described group for `--json`."""
    return {
        "group": item.group,
        "type": item.type,
        "state": item.state,
        "coordinator": {
            "id": item.coordinator.broker_id,
            "host": item.coordinator.host,
            "port": item.coordinator.port,
        },
        "assignor": item.assignor,
        "members": [_member_payload(member) for member in item.members],
        "partitions": [_lag_payload(item, partition) for partition in item.partitions],
        "lag": item.lag,
    }


def print_lost_offsets(found: Sequence[GroupDescription]) -> None:
    """Print what is committed by groups that are to be deleted."""
    rows = [
        (item.group, lag.partition.topic, lag.partition.partition, lag.committed)
        for item in found
        for lag in item.partitions
        if lag.committed is not None
    ]
    table(("group", "topic", "partition", "current offset"), rows)


def print_plan(plan: ResetPlan) -> None:
    """Print what a reset does to each partition."""
    columns = ("topic", "partition", "current offset", "new offset", "lag", "new lag", "note")
    rows: list[tuple[object, ...]] = [
        (
            item.partition.topic,
            item.partition.partition,
            item.before.committed,
            item.after.offset,
            item.before.lag,
            item.lag_after,
            _adjustment(item),
        )
        for item in plan.changes
    ]
    table(columns, rows)
    for partition in plan.left:
        click.echo(f"note: `{partition}` stays as it is", err=True)
    if plan.members:
        clients = ", ".join(sorted({f"`{member.client_id}`" for member in plan.members}))
        click.echo(f"note: --execute is refused while the group has members: {clients}", err=True)


def plan_payload(plan: ResetPlan, *, executed: bool) -> dict[str, object]:
    """Return a plan, carried out or not, for `--json`."""
    return {
        "group": plan.group,
        "executed": executed,
        "changes": [
            {
                "topic": item.partition.topic,
                "partition": item.partition.partition,
                "current_offset": item.before.committed,
                "new_offset": item.after.offset,
                "wanted_offset": item.wanted,
                "lag": item.before.lag,
                "new_lag": item.lag_after,
            }
            for item in plan.changes
        ],
        "unchanged": [{"topic": item.topic, "partition": item.partition} for item in plan.left],
        "members": [_member_payload(member) for member in plan.members],
    }


def _print_description(item: GroupDescription) -> None:
    assignor = f", assignor {item.assignor}" if item.assignor else ""
    click.echo(
        f"group {item.group}: {item.type}, {item.state}, coordinator {item.coordinator}{assignor}"
    )
    if item.members:
        click.echo()
        table(
            ("member", "client id", "host", "partitions"),
            [_member_row(member) for member in item.members],
        )
    if item.partitions:
        click.echo()
        _print_lags(item)
    click.echo(f"total lag: {'nothing committed' if item.lag is None else item.lag}")
    for note in filter(None, map(_note, item.partitions)):
        click.echo(f"note: {note}")


def _print_lags(item: GroupDescription) -> None:
    columns = ("group", "topic", "partition", "current offset", "log end offset", "lag", "owner")
    rows = [
        (
            item.group,
            lag.partition.topic,
            lag.partition.partition,
            lag.committed,
            lag.end,
            lag.lag,
            _owner(item, lag),
        )
        for lag in item.partitions
    ]
    table(columns, rows)


def _owner(item: GroupDescription, lag: PartitionLag) -> str | None:
    owner = item.owner_of(lag.partition)
    return owner.member_id if owner else None


def _note(lag: PartitionLag) -> str | None:
    if lag.committed is None:
        return f"`{lag.partition}` has no committed offset"
    if lag.end is None:
        return f"`{lag.partition}` does not exist any more"
    if lag.expired:
        return f"`{lag.partition}`: {lag.expired} of the lag of {lag.lag} are already deleted"
    if lag.held:
        return (
            f"`{lag.partition}`: {lag.held} of the lag of {lag.lag} are behind an open "
            f"transaction, readers of committed records wait at {lag.stable}"
        )
    if lag.beyond_end:
        return f"`{lag.partition}`: the commit lies beyond the end; was the topic made anew?"
    return None


def _member_row(member: Member) -> tuple[object, ...]:
    partitions = [str(partition) for partition in member.partitions]
    return (member.member_id, member.client_id, member.host, partitions or None)


def _member_payload(member: Member) -> dict[str, object]:
    return {
        "member_id": member.member_id,
        "client_id": member.client_id,
        "host": member.host,
        "instance_id": member.instance_id,
        "partitions": [
            {"topic": item.topic, "partition": item.partition} for item in member.partitions
        ],
    }


def _lag_payload(item: GroupDescription, lag: PartitionLag) -> dict[str, object]:
    return {
        "topic": lag.partition.topic,
        "partition": lag.partition.partition,
        "current_offset": lag.committed,
        "log_start_offset": lag.first,
        "log_end_offset": lag.end,
        "last_stable_offset": lag.stable,
        "lag": lag.lag,
        "held": lag.held,
        "expired": lag.expired,
        "owner": _owner(item, lag),
    }


def _adjustment(item: OffsetChange) -> str:
    if item.wanted == item.after.offset:
        return ""
    return f"asked for {item.wanted}; the partition has {item.before.first} to {item.before.end}"
