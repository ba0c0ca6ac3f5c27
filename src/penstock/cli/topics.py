"""`penstock topics`: what topics there are, how they are, and changing them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from penstock.cli.config_options import ASSIGNMENT, SETTING, alterations
from penstock.cli.options import (
    SPAN,
    TIME,
    cluster_options,
    cluster_settings,
    connect,
    connection_of,
    json_option,
    yes_option,
)
from penstock.cli.rendering import confirm, show, table
from penstock.cli.topic_views import (
    change_payload,
    description_payload,
    print_change,
    print_deletion,
    print_description,
    print_purge,
    print_topics,
    purge_payload,
    topic_payload,
)
from penstock.cli.trail import Deed, on_the_trail
from penstock.errors import UsageError
from penstock.names import BrokerId, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kafka import Admin, PurgeLimit, TopicDescription


class NothingToChangeError(UsageError):
    """`topics alter` was called without anything to alter."""

    code = "PEN-921"

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"nothing to change about topic `{topic}` was given",
            hint="add `--partitions N`, `--set KEY=VALUE` or `--unset KEY`",
        )


class PurgeLimitError(UsageError):
    """`topics purge` needs to know up to where, in exactly one way."""

    code = "PEN-922"

    def __init__(self, *, given: int) -> None:
        super().__init__(
            f"a purge needs one limit, {given} were given",
            hint="use one of `--before-offset N`, `--before-time 7d` and `--all`",
        )


class AssignmentConflictError(UsageError):
    """`--assign` already says how many partitions and replicas there are."""

    code = "PEN-923"

    def __init__(self) -> None:
        super().__init__(
            "`--assign` names each partition and its brokers, so their numbers are settled",
            hint="leave out `--partitions` and `--replication`",
        )


@click.group()
def topics() -> None:
    """List, describe, create, alter, purge and delete topics."""


@topics.command(name="list")
@click.argument("pattern", required=False)
@click.option("--internal", is_flag=True, help="Also Kafka's and Penstock's own topics.")
@cluster_options
@json_option
def list_command(
    *,
    pattern: str | None,
    internal: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """List topics with their health and size.

    PATTERN is a shell pattern: * stands for any characters. The column "offsets" is the distance
    between first and end offset; transactions and compaction leave gaps, so there may be fewer
    records. "On disk" counts all replicas.

    \b
      penstock topics list
      penstock topics list 'orders*' --json
    """
    from penstock.kafka import Admin, list_topics

    with Admin(connect(bootstrap, profile)) as admin:
        found = list_topics(admin, pattern, internal=internal)
    show([topic_payload(topic) for topic in found], lambda: print_topics(found), as_json=as_json)


@topics.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--all-configs", is_flag=True, help="Also configs at Kafka's defaults.")
@click.option(
    "--rate-window",
    type=SPAN,
    default="1s",
    show_default=True,
    help="How long to watch end offsets for the record rate; 0 leaves it out.",
)
@cluster_options
@json_option
def describe(
    *,
    names: tuple[str, ...],
    all_configs: bool,
    rate_window: timedelta,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Show partitions, leaders, replicas, offsets, sizes, rate and configs of topics.

    The record rate is how fast the end offsets grow while the command looks.

    \b
      penstock topics describe orders
      penstock topics describe orders payments --all-configs --rate-window 5s
    """
    from penstock.kafka import Admin, describe_topics

    window = rate_window.total_seconds()
    with Admin(connect(bootstrap, profile)) as admin:
        found = describe_topics(admin, list(dict.fromkeys(TopicName(name) for name in names)))
        rates = _rates(admin, found, window) if window else {}

    def human() -> None:
        for topic in found:
            rate = rates.get(topic.name)
            shown = f"{window:g} s"
            print_description(topic, rate=rate, window=shown, all_configs=all_configs)

    payload = [
        description_payload(topic, rate=rates.get(topic.name), all_configs=all_configs)
        for topic in found
    ]
    show(payload, human, as_json=as_json)


def _rates(
    admin: Admin, found: Sequence[TopicDescription], window_seconds: float
) -> dict[TopicName, float]:
    from penstock.kafka import TopicPartition, record_rates

    readable = [
        TopicPartition(topic.name, partition.partition)
        for topic in found
        for partition in topic.partitions
        if partition.end is not None
    ]
    return record_rates(admin, readable, window_seconds=window_seconds)


@topics.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1, 100_000), help="Default: the cluster's.")
@click.option("--replication", type=click.IntRange(1, 1000), help="Default: the cluster's.")
@click.option("--config", "configs", type=SETTING, multiple=True, help="May be repeated.")
@click.option(
    "--assign",
    "assignments",
    type=ASSIGNMENT,
    multiple=True,
    help="Brokers of one partition, preferred leader first; once per partition.",
)
@click.option("--if-not-exists", is_flag=True, help="Accept a topic that is already there.")
@cluster_options
@json_option
def create(
    *,
    name: str,
    partitions: int | None,
    replication: int | None,
    configs: tuple[tuple[str, str], ...],
    assignments: tuple[tuple[Partition, tuple[BrokerId, ...]], ...],
    if_not_exists: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Create a topic.

    \b
      penstock topics create orders --partitions 3
      penstock topics create prices --config cleanup.policy=compact
      penstock topics create audit --assign 0=1,2 --assign 1=2,3
    """
    from penstock.kafka import (
        Admin,
        ReplicaAssignment,
        TopicExistsError,
        create_topic,
        list_topics,
    )

    if assignments and (partitions is not None or replication is not None):
        raise AssignmentConflictError
    topic, created = TopicName(name), True
    settings, deed = cluster_settings(bootstrap, profile), Deed("create_topic", "topics")
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, deed) as did:
        try:
            create_topic(
                admin,
                topic,
                partition_count=partitions,
                replication_factor=replication,
                config={item.name: item.value or "" for item in alterations(configs)},
                assignment=[
                    ReplicaAssignment(partition=partition, brokers=brokers)
                    for partition, brokers in assignments
                ],
            )
        except TopicExistsError:
            if not if_not_exists:
                raise
            created = False
        else:
            did(deed, f"Topic `{topic}` was created.")
        # Who may create a topic need not be allowed to see its configs: a list does without.
        (found,) = list_topics(admin, topic, internal=True)
    payload = topic_payload(found) | {"created": created}
    show(payload, lambda: _print_created(found, created=created), as_json=as_json)


def _print_created(topic: TopicDescription, *, created: bool) -> None:
    verb = "created" if created else "already there"
    click.echo(
        f"{topic.name}: {verb}, {len(topic.partitions)} partitions, "
        f"replication {topic.replication_factor}"
    )


@topics.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1, 100_000), help="The new, higher number.")
@click.option("--set", "settings", type=SETTING, multiple=True, help="May be repeated.")
@click.option("--unset", "removals", metavar="KEY", multiple=True, help="May be repeated.")
@click.option(
    "--allow-key-move",
    is_flag=True,
    help="Add partitions although keys will then belong to other partitions.",
)
@cluster_options
@json_option
def alter(
    *,
    name: str,
    partitions: int | None,
    settings: tuple[tuple[str, str], ...],
    removals: tuple[str, ...],
    allow_key_move: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Give a topic more partitions or other configs.

    More partitions change where keys go: records of one key end up on two partitions and lose
    their order. A topic whose latest records have keys is therefore left alone unless
    --allow-key-move is given; the refusal says how many of the keys would move.

    \b
      penstock topics alter orders --partitions 8
      penstock topics alter orders --set max.message.bytes=64000
      penstock topics alter orders --unset max.message.bytes
    """
    from penstock.kafka import Admin, alter_topic

    if partitions is None and not settings and not removals:
        raise NothingToChangeError(name)
    topic, asked = TopicName(name), alterations(settings, removals)
    growing, configuring = (
        Deed(action, f"topic {topic}") for action in ("add_partitions", "alter_topic")
    )
    deeds = ([growing] if partitions else []) + ([configuring] if asked else [])
    chosen = cluster_settings(bootstrap, profile)
    with Admin(connection_of(chosen)) as admin, on_the_trail(chosen, *deeds) as did:
        change = alter_topic(
            admin,
            topic,
            partition_count=partitions,
            alterations=asked,
            allow_key_move=allow_key_move,
        )
        if change.configs:
            did(configuring, f"Topic `{topic}` was changed: {', '.join(map(str, change.configs))}.")
        old, new = change.old_partition_count, change.new_partition_count
        if new != old:
            did(growing, f"Topic `{topic}` has {new:,} partitions instead of {old:,}.")
    show(change_payload(topic, change), lambda: print_change(topic, change), as_json=as_json)


@topics.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--internal", is_flag=True, help="Allow Kafka's and Penstock's own topics.")
@yes_option
@cluster_options
@json_option
def delete(
    *,
    names: tuple[str, ...],
    internal: bool,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Delete topics with all their records, for good.

    Shows what would go, then asks.

    \b
      penstock topics delete orders
      penstock topics delete test-1 test-2 --yes
    """
    from penstock.kafka import Admin, delete_topics, describe_topics, ensure_deletable

    chosen = list(dict.fromkeys(TopicName(name) for name in names))
    settings = cluster_settings(bootstrap, profile)
    deeds = [Deed("delete_topic", f"topic {name}") for name in chosen]
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, *deeds) as did:
        ensure_deletable(admin, chosen, allow_internal=internal)
        found = describe_topics(admin, chosen)
        if not as_json:
            print_deletion(found)
        confirm(f"delete {_counted(chosen)} with all records", yes=yes)
        delete_topics(admin, chosen, allow_internal=internal)
        for name, deed in zip(chosen, deeds, strict=True):
            did(deed, f"Topic `{name}` was deleted.")
    payload = {"deleted": [topic_payload(topic) for topic in found]}
    show(payload, lambda: click.echo(f"deleted {_counted(chosen)}", err=True), as_json=as_json)


def _counted(names: Sequence[TopicName]) -> str:
    return f"topic `{names[0]}`" if len(names) == 1 else f"{len(names)} topics"


@topics.command()
@click.argument("name")
@click.option("--before-offset", type=click.IntRange(0), metavar="N", help="Keep from offset N on.")
@click.option("--before-time", type=TIME, help="Keep from this time on: ISO, epoch ms or 7d.")
@click.option("--all", "everything", is_flag=True, help="Keep nothing.")
@click.option("--partition", type=click.IntRange(0), help="Only this partition.")
@yes_option
@cluster_options
@json_option
def purge(
    *,
    name: str,
    before_offset: int | None,
    before_time: datetime | None,
    everything: bool,
    partition: int | None,
    yes: bool,
    bootstrap: str | None,
    profile: str | None,
    as_json: bool,
) -> None:
    """Delete the oldest records of a topic; the topic stays.

    Shows for each partition where it begins and would begin, then asks.

    \b
      penstock topics purge orders --before-time 7d
      penstock topics purge orders --before-offset 1000 --partition 0
      penstock topics purge orders --all --yes
    """
    from penstock.kafka import Admin, apply_purge, plan_purge

    limit = _purge_limit(before_offset, before_time, everything=everything)
    topic, only = TopicName(name), None if partition is None else Partition(partition)
    settings, deed = cluster_settings(bootstrap, profile), Deed("purge_topic", f"topic {topic}")
    with Admin(connection_of(settings)) as admin, on_the_trail(settings, deed) as did:
        plan = plan_purge(admin, topic, limit, partition=only)
        span = sum(item.span for item in plan)
        if not as_json:
            print_purge(plan)
        if span:
            confirm(f"delete {span} offsets of topic `{topic}`", yes=yes)
            apply_purge(admin, topic, plan)
            offsets = f"{span:,} offset{'' if span == 1 else 's'}"
            did(deed, f"Records of topic `{topic}` were deleted: {offsets}.")
    done = f"deleted {span} offsets of topic `{topic}`" if span else "nothing to delete"
    show(purge_payload(topic, plan), lambda: click.echo(done, err=True), as_json=as_json)


def _purge_limit(
    before_offset: int | None, before_time: datetime | None, *, everything: bool
) -> PurgeLimit:
    from penstock.kafka import BeforeOffset, BeforeTime, Everything

    limits: list[PurgeLimit] = []
    if before_offset is not None:
        limits.append(BeforeOffset(Offset(before_offset)))
    if before_time is not None:
        limits.append(BeforeTime(before_time))
    if everything:
        limits.append(Everything())
    if len(limits) != 1:
        raise PurgeLimitError(given=len(limits))
    return limits[0]


@topics.command()
@click.option(
    "--days",
    type=click.IntRange(0, 36_500),
    default=30,
    show_default=True,
    help="Age of newest record.",
)
@cluster_options
@json_option
def unused(*, days: int, bootstrap: str | None, profile: str | None, as_json: bool) -> None:
    """List topics that nobody has written to for a while, and empty ones.

    Goes by the newest record timestamp of each topic. Kafka does not tell when a topic was
    created or read, so a new topic without records is listed as empty; `penstock groups list`
    shows who reads.

    \b
      penstock topics unused --days 90
    """
    from penstock.kafka import Admin, unused_topics

    with Admin(connect(bootstrap, profile)) as admin:
        found = unused_topics(admin, older_than=datetime.now(UTC) - timedelta(days=days))
    payload = [
        {"name": topic.name, "partitions": topic.partition_count, "newest_record": topic.newest}
        for topic in found
    ]
    rows = [[topic.name, topic.partition_count, topic.newest or "empty"] for topic in found]
    show(payload, lambda: table(["topic", "partitions", "newest record"], rows), as_json=as_json)
