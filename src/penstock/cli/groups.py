"""`penstock groups`: consumer groups, their lag, and moving what they have committed."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.group_views import (
    description_payload,
    plan_payload,
    print_descriptions,
    print_lost_offsets,
    print_plan,
)
from penstock.cli.options import (
    TIME,
    cluster_options,
    cluster_settings,
    connect,
    connection_of,
    json_option,
    yes_option,
)
from penstock.cli.rendering import confirm, show, table
from penstock.cli.trail import Deed, on_the_trail
from penstock.names import GroupId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from penstock.kafka import Admin, GroupListing, ResetPlan, ResetTarget, TopicSelection
    from penstock.settings import Settings

STATES = ("stable", "empty", "rebalancing", "dead", "unknown")
TYPES = ("classic", "consumer", "other")

execute_option = click.option(
    "--execute/--dry-run",
    default=False,
    help="Write the new offsets; without it, only show them.",
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _TopicSelection(click.ParamType[object]):
    """`orders` or `orders:0,1`."""

    name = "topic"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return the selection that `value` names."""
        from penstock.kafka import TopicSelection

        match = re.fullmatch(r"([^:]+)(?::(\d+(?:,\d+)*))?", str(value))
        if match is None:
            self.fail(f"{value!r} is not a topic; write `orders` or `orders:0,1`", param, ctx)
        numbers = match[2].split(",") if match[2] else None
        return TopicSelection(
            topic=TopicName(match[1]),
            partitions=tuple(Partition(int(number)) for number in numbers) if numbers else None,
        )


@click.group()
def groups() -> None:
    """Consumer groups: who reads what, how far behind, and from where next.

    Groups of the classic and of the consumer protocol are shown in full. Of share, Kafka Streams
    and Connect groups Kafka's client for Python sees only the name: they are listed as `other`.
    """


@groups.command(name="list")
@click.argument("pattern", required=False)
@click.option(
    "--state", "states", multiple=True, type=click.Choice(STATES), help="May be repeated."
)
@click.option("--type", "types", multiple=True, type=click.Choice(TYPES), help="May be repeated.")
@cluster_options
@json_option
def list_command(
    *,
    pattern: str | None,
    states: tuple[str, ...],
    types: tuple[str, ...],
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """List groups with their members and total lag.

    \b
    Examples:
      penstock groups list
      penstock groups list 'orders-*' --state stable
      penstock groups list --json | jq '.[] | select(.lag > 1000)'
    """
    from penstock.kafka import Admin, GroupState, GroupType, list_groups

    with Admin(connect(bootstrap, profile)) as admin:
        found = list_groups(
            admin,
            wanted=lambda group: pattern is None or fnmatchcase(group, pattern),
            states=[GroupState(state) for state in states or STATES],
            types=[GroupType(kind) for kind in types or TYPES],
        )
    columns = ("group", "type", "state", "members", "lag")
    rows = [_listing_row(item) for item in found]
    payload = [dict(zip(columns, row, strict=True)) for row in rows]
    show(payload, lambda: table(columns, rows), as_json=as_json)


@groups.command()
@click.argument("names", metavar="GROUP...", nargs=-1, required=True)
@cluster_options
@json_option
def describe(
    *, names: tuple[str, ...], bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Show members, assignment, committed offsets and lag of groups.

    Lag is the log end offset minus the committed offset. Partitions without a commit show `-`.

    \b
    Examples:
      penstock groups describe orders-app
      penstock groups describe orders-app billing --json
    """
    from penstock.kafka import Admin, describe_groups

    with Admin(connect(bootstrap, profile)) as admin:
        found = describe_groups(admin, _group_ids(names))
    payload = [description_payload(item) for item in found]
    show(payload, lambda: print_descriptions(found), as_json=as_json)


@groups.command()
@click.argument("name", metavar="GROUP")
@click.option(
    "--topic",
    "topics",
    multiple=True,
    type=_TopicSelection(),
    metavar="TOPIC[:0,1]",
    help="A topic, or some of its partitions. May be repeated.",
)
@click.option("--all-topics", is_flag=True, help="Every topic the group has committed to.")
@click.option("--to-earliest", is_flag=True, help="To the first record still there.")
@click.option("--to-latest", is_flag=True, help="To the end: read only what comes.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="N", help="To this offset.")
@click.option("--to-time", type=TIME, metavar="TIME", help="2026-05-01T12:00:00Z, or 6h for ago.")
@click.option("--shift", type=int, metavar="N", help="By N offsets; backwards when negative.")
@click.option("--from-file", type=_FILE, help="To the offsets of an exported group.")
@execute_option
@yes_option
@cluster_options
@json_option
def reset(
    *,
    name: str,
    topics: tuple[TopicSelection, ...],
    all_topics: bool,
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: datetime | None,
    shift: int | None,
    from_file: Path | None,
    execute: bool,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Move a group's committed offsets, after a dry run.

    Nothing is written unless --execute is given. The group must have no members. Offsets that a
    partition does not have are moved to the nearest it has, and the table says so.

    \b
    Examples:
      penstock groups reset orders-app --all-topics --to-earliest
      penstock groups reset orders-app --topic orders:0,1 --to-time 6h --execute
      penstock groups reset orders-app --topic orders --shift -100 --execute --yes
    """
    from penstock.kafka import plan_reset

    if all_topics == bool(topics):
        message = "choose the partitions: either --topic (may be repeated) or --all-topics"
        raise click.UsageError(message)
    target = _one_target(
        to_earliest=to_earliest,
        to_latest=to_latest,
        to_offset=to_offset,
        to_time=to_time,
        shift=shift,
        from_file=from_file,
    )
    group = GroupId(name)

    def planned(admin: Admin) -> ResetPlan:
        return plan_reset(admin, group, target, topics=topics or None)

    settings = cluster_settings(bootstrap, profile)
    _carry_out(settings, group, planned, execute=execute, yes=yes, as_json=as_json)


@groups.command()
@click.argument("names", metavar="GROUP...", nargs=-1, required=True)
@yes_option
@cluster_options
@json_option
def delete(
    *, names: tuple[str, ...], yes: bool, bootstrap: str | None, profile: str | None, as_json: bool
) -> None:
    """Delete groups that have no members.

    What they have committed is lost: it is shown before you are asked, and an export keeps it.

    \b
    Examples:
      penstock groups export orders-app > orders-app.json
      penstock groups delete orders-app
    """
    from penstock.kafka import Admin, delete_groups, describe_groups, ensure_groups_idle

    wanted = list(dict.fromkeys(_group_ids(names)))
    settings = cluster_settings(bootstrap, profile)
    deeds = [Deed("delete_group", f"group {group}") for group in wanted]
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, *deeds) as did:
        found = describe_groups(admin, wanted)
        ensure_groups_idle(admin, wanted, verb="delete")
        if not as_json:
            print_lost_offsets(found)
        confirm(f"delete {_counted(len(wanted), 'group')} and these offsets", yes=yes)
        delete_groups(admin, wanted)
        for group, deed in zip(wanted, deeds, strict=True):
            did(deed, f"Group `{group}` was deleted.")
    show(
        {"deleted": wanted},
        lambda: click.echo(f"deleted {_counted(len(wanted), 'group')}", err=True),
        as_json=as_json,
    )


@groups.command()
@click.argument("name", metavar="GROUP")
@cluster_options
@click.option("--json", is_flag=True, expose_value=False, help="Accepted: the file is JSON anyway.")
def export(*, name: str, bootstrap: str | None, profile: str | None) -> None:
    """Write what a group has committed to stdout.

    `groups import` and `groups reset --from-file` read such a file.

    \b
    Example:
      penstock groups export orders-app > orders-app.json
    """
    from penstock.kafka import Admin, snapshot_text, take_snapshot

    with Admin(connect(bootstrap, profile)) as admin:
        click.echo(snapshot_text(take_snapshot(admin, GroupId(name))), nl=False)


@groups.command(name="import")
@click.argument("file", type=_FILE)
@click.option("--group", "name", metavar="NEW", help="Another group than the file's.")
@execute_option
@yes_option
@cluster_options
@json_option
def import_command(
    *,
    file: Path,
    name: str | None,
    execute: bool,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Give a group the offsets of an exported one.

    Nothing is written unless --execute is given. The group is created when it does not exist, and
    must have no members.

    \b
    Examples:
      penstock groups import orders-app.json
      penstock groups import orders-app.json --group orders-copy --execute
    """
    from penstock.kafka import load_snapshot, plan_import

    snapshot = load_snapshot(file)
    group = GroupId(name or snapshot.group)

    def planned(admin: Admin) -> ResetPlan:
        return plan_import(admin, group, snapshot.commits)

    settings = cluster_settings(bootstrap, profile)
    _carry_out(settings, group, planned, execute=execute, yes=yes, as_json=as_json)


def _one_target(
    *,
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: datetime | None,
    shift: int | None,
    from_file: Path | None,
) -> ResetTarget:
    from penstock.kafka import (
        ShiftBy,
        ToCommits,
        ToEarliest,
        ToLatest,
        ToOffset,
        ToTime,
        load_snapshot,
    )

    targets: list[ResetTarget] = []
    if to_earliest:
        targets.append(ToEarliest())
    if to_latest:
        targets.append(ToLatest())
    if to_offset is not None:
        targets.append(ToOffset(Offset(to_offset)))
    if to_time is not None:
        targets.append(ToTime(to_time))
    if shift is not None:
        targets.append(ShiftBy(shift))
    if from_file is not None:
        targets.append(ToCommits(load_snapshot(from_file).commits))
    if len(targets) != 1:
        message = (
            "choose exactly one of --to-earliest, --to-latest, --to-offset, --to-time, --shift "
            f"and --from-file; {len(targets) or 'none'} given"
        )
        raise click.UsageError(message)
    return targets[0]


def _carry_out(
    settings: Settings,
    group: GroupId,
    planned: Callable[[Admin], ResetPlan],
    *,
    execute: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Show a plan and, when asked to, apply it: the same list is shown and written."""
    from penstock.kafka import Admin, apply_reset, ensure_groups_idle

    outcome = "dry run: nothing was changed; add --execute to write these offsets"
    deeds = [Deed("reset_group", f"group {group}")] if execute else []
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, *deeds) as did:
        plan = planned(admin)
        if execute:
            ensure_groups_idle(admin, [group], verb="reset")
        if not as_json:
            print_plan(plan)
        for deed in deeds:
            count = _counted(len(plan.changes), "offset")
            confirm(f"write {count} of group `{group}`", yes=yes)
            apply_reset(admin, plan)
            outcome = f"wrote {count} of group `{group}`"
            did(deed, f"Group `{group}` was moved in {_counted(len(plan.changes), 'partition')}.")
    show(
        plan_payload(plan, executed=execute),
        lambda: click.echo(outcome, err=True),
        as_json=as_json,
    )


def _group_ids(names: Sequence[str]) -> list[GroupId]:
    return [GroupId(name) for name in names]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _listing_row(item: GroupListing) -> tuple[object, ...]:
    return (item.group, str(item.type), str(item.state), item.member_count, item.lag)
