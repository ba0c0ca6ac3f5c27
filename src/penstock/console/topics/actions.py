"""What can be done with topics: create, alter, add partitions, purge, delete."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from penstock.console.access.roles import Role
from penstock.console.configs import (
    ConfigForm,
    alterations,
    command_words,
    preview,
    settings_in,
    told,
)
from penstock.console.errors import InvalidFormError
from penstock.console.frame import Action, Question, Table
from penstock.console.frame.actions import Form, NoFields
from penstock.console.topics.finding import groups_by_topic, name_of
from penstock.kafka import (
    Admin,
    BeforeOffset,
    BeforeTime,
    Everything,
    InternalTopicError,
    KeysWouldMoveError,
    PartitionPurge,
    alter_topic,
    apply_purge,
    create_topic,
    delete_topics,
    describe_topics,
    ensure_alterable,
    ensure_deletable,
    ensure_exist,
    is_internal,
    plan_purge,
    topic_configs,
)
from penstock.names import Offset, Partition, TopicName
from penstock.pipeline import parse_moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.console.frame import Ask
    from penstock.kafka import PurgeLimit

_MOST_ROWS = 500
# Fields of forms, as errors name them.
_CONFIGS, _VALUE, _PLAN = "configs", "value", "plan"


class CreateForm(Form):
    """A new topic."""

    name: str = Field(description="Letters, digits, dots, dashes and underscores.", max_length=249)
    partitions: int | None = Field(
        None, ge=1, le=100_000, description="Empty: as many as the cluster gives."
    )
    replicas: int | None = Field(
        None, ge=1, le=1000, description="Copies of each partition. Empty: the cluster's default."
    )
    configs: str = Field(
        "",
        description="One in a line: name=value, such as retention.ms=86400000.",
        json_schema_extra={"long": True},
    )


class PartitionsForm(Form):
    """How many partitions a topic is to have."""

    partitions: int = Field(ge=1, le=100_000, description="In all. There is no way back to fewer.")
    allow_key_move: bool = Field(
        default=False,
        title="Keys may move",
        description="Records of a key that moves are then on two partitions, without an order.",
    )


class PurgeForm(Form):
    """Up to where records are to be deleted."""

    up_to: Literal["everything", "time", "offset"] = Field(title="Delete")
    value: str | None = Field(
        default=None,
        title="Time or offset",
        description="What is older goes: 7d, for ago, or 2026-05-01T12:00:00Z; or lower offsets.",
    )
    partition: int | None = Field(default=None, ge=0, description="Empty: all of them.")
    plan: str | None = Field(default=None, json_schema_extra={"hidden": True})


class _Purge(BaseModel):
    partition: int
    first: int
    new_first: int
    end: int


_PLANS = TypeAdapter(list[_Purge])


def _creation(ask: Ask, form: CreateForm) -> Question:
    with Admin(ask.world.connection) as admin:
        _create_topic(admin, form, dry_run=True)
    partitions = "the usual number of" if form.partitions is None else f"{form.partitions:,}"
    replicas = "the usual number of" if form.replicas is None else f"{form.replicas:,}"
    rows = tuple(_configs(form.configs).items())
    return Question(
        sentence=f"Create topic `{form.name}` with {partitions} partitions, in {replicas} replicas "
        "each.",
        button="Create",
        preview=Table(head=("Config", "Value"), rows=rows) if rows else None,
    )


def _create(ask: Ask, form: CreateForm) -> str:
    with Admin(ask.world.connection) as admin:
        _create_topic(admin, form, dry_run=False)
    ask.world.hasten("topics", "brokers")
    return f"Topic `{form.name}` was created."


def _create_topic(admin: Admin, form: CreateForm, *, dry_run: bool) -> None:
    create_topic(
        admin,
        TopicName(form.name),
        partition_count=form.partitions,
        replication_factor=form.replicas,
        config=_configs(form.configs),
        dry_run=dry_run,
    )


def _configs(text: str) -> dict[str, str]:
    return {item.name: item.value or "" for item in settings_in(text, field=_CONFIGS)}


def _alteration(ask: Ask, form: ConfigForm) -> Question:
    name, asked = _changeable(ask), alterations(form)
    with Admin(ask.world.connection) as admin:
        ensure_alterable(admin, name, alterations=asked)
        current = {entry.name: entry for entry in topic_configs(admin, [name])[name]}
    return Question(
        sentence=f"Change {_counted(len(asked), 'config')} of topic `{name}`.",
        button="Change",
        preview=preview(asked, current),
        warnings=_warnings_of_retention([item.name for item in asked]),
    )


def _warnings_of_retention(names: Sequence[str]) -> tuple[str, ...]:
    risky = [name for name in names if name.startswith("retention.") or name == "cleanup.policy"]
    if not risky:
        return ()
    return (
        "Kafka deletes what the new retention does not keep within minutes, and for good: groups "
        "that have not read it will not.",
    )


def _alter(ask: Ask, form: ConfigForm) -> str:
    name = _changeable(ask)
    with Admin(ask.world.connection) as admin:
        change = alter_topic(admin, name, alterations=alterations(form))
    ask.world.topics.note_change(name)
    ask.world.hasten("topics")
    return f"Topic `{name}` was changed: {told(change.configs)}."


def _growth(ask: Ask, form: PartitionsForm) -> Question:
    name, count = _changeable(ask), form.partitions
    warnings = []
    moves = False
    with Admin(ask.world.connection) as admin:
        try:
            ensure_alterable(admin, name, partition_count=count)
        except KeysWouldMoveError as err:
            warnings.append(f"{err.message}.")
            moves = True
            if form.allow_key_move:
                ensure_alterable(admin, name, partition_count=count, allow_key_move=True)
        now = len(admin.metadata().topics[name].partitions)
    if moves and not form.allow_key_move:
        warnings.append("If no consumer relies on the order per key, tick that keys may move.")
    is_possible = count > now and (form.allow_key_move or not moves)
    sentence = (
        f"Topic `{name}` has {now:,} partitions; with {count:,} it gets {count - now:,} more."
    )
    if count == now:
        sentence = f"Topic `{name}` has {now:,} partitions already."
    return Question(
        sentence=sentence,
        button="Add partitions" if is_possible else None,
        warnings=tuple(warnings),
        is_dangerous=moves,
    )


def _grow(ask: Ask, form: PartitionsForm) -> str:
    name = _changeable(ask)
    with Admin(ask.world.connection) as admin:
        change = alter_topic(
            admin, name, partition_count=form.partitions, allow_key_move=form.allow_key_move
        )
    ask.world.hasten("topics", "brokers")
    return (
        f"Topic `{name}` has {change.new_partition_count:,} partitions instead of "
        f"{change.old_partition_count:,}."
    )


def _purging(ask: Ask, form: PurgeForm) -> Question:
    name = _changeable(ask)
    with Admin(ask.world.connection) as admin:
        plan = plan_purge(admin, name, _limit(form), partition=_partition(form))
    span = sum(item.span for item in plan)
    if not span:
        return Question(sentence=f"Topic `{name}` holds nothing of that kind.", button=None)
    rows = [
        (str(item.partition), f"{item.first:,}", f"{item.new_first:,}", f"{item.span:,}")
        for item in plan
        if item.span
    ]
    return Question(
        sentence=f"Delete {_counted(span, 'offset')} of topic `{name}`; the topic stays.",
        button="Delete records",
        preview=Table(
            head=("Partition", "Begins at", "Will begin at", "Offsets that go"),
            rows=tuple(rows[:_MOST_ROWS]),
        ),
        warnings=_readers(ask, name),
        is_dangerous=True,
        settled={"plan": _plan_text(plan)},
    )


def _purge(ask: Ask, form: PurgeForm) -> str:
    name = _changeable(ask)
    with Admin(ask.world.connection) as admin:
        if form.plan is None:  # a program that did not ask before
            plan = plan_purge(admin, name, _limit(form), partition=_partition(form))
        else:
            ensure_exist(admin, [name])
            plan = _planned(form.plan)
        apply_purge(admin, name, plan)
    ask.world.topics.note_purge(name)
    ask.world.hasten("topics", "groups")
    span = sum(item.span for item in plan)
    return f"Records of topic `{name}` were deleted: {_counted(span, 'offset')}."


def _limit(form: PurgeForm) -> PurgeLimit:
    if form.up_to == "everything":
        return Everything()
    text = _value_in(form)
    if form.up_to == "time":
        try:
            return BeforeTime(parse_moment(text))
        except (ValueError, OverflowError, OSError):
            reason = f"`{text}` is no time; write 7d or 2026-05-01T12:00:00Z"
            raise InvalidFormError(_VALUE, reason=reason) from None
    if not text.isdecimal():
        raise InvalidFormError(_VALUE, reason=f"`{text}` is no offset")
    return BeforeOffset(Offset(int(text)))


def _value_in(form: PurgeForm) -> str:
    return (form.value or "").strip().removesuffix(" ago")


def _partition(form: PurgeForm) -> Partition | None:
    return None if form.partition is None else Partition(form.partition)


def _plan_text(plan: Sequence[PartitionPurge]) -> str:
    items = [
        _Purge(partition=item.partition, first=item.first, new_first=item.new_first, end=item.end)
        for item in plan
    ]
    return _PLANS.dump_json(items).decode()


def _planned(text: str) -> tuple[PartitionPurge, ...]:
    try:
        items = _PLANS.validate_json(text)
    except ValidationError:
        raise InvalidFormError(_PLAN, reason="this is not the plan that was shown") from None
    return tuple(
        PartitionPurge(
            partition=Partition(item.partition),
            first=Offset(item.first),
            new_first=Offset(item.new_first),
            end=Offset(item.end),
        )
        for item in items
    )


def _deletion(ask: Ask, _form: NoFields) -> Question:
    name = name_of(ask)
    with Admin(ask.world.connection) as admin:
        ensure_deletable(admin, [name])
        (found,) = describe_topics(admin, [name])
    rows = [
        (str(item.partition), _number(item.first), _number(item.end), _number(item.span))
        for item in found.partitions
    ]
    return Question(
        sentence=f"Delete topic `{name}` with all its records, for good.",
        button="Delete topic",
        preview=Table(
            head=("Partition", "First offset", "End", "Offsets that go"),
            rows=tuple(rows[:_MOST_ROWS]),
        ),
        warnings=_readers(ask, name),
        is_dangerous=True,
    )


def _delete(ask: Ask, _form: NoFields) -> str:
    name = name_of(ask)
    with Admin(ask.world.connection) as admin:
        delete_topics(admin, [name])
    ask.world.hasten("topics", "brokers")
    return f"Topic `{name}` was deleted."


def _changeable(ask: Ask) -> TopicName:
    """Return the topic that the address names, unless the cluster keeps its own state there."""
    name = name_of(ask)
    if is_internal(name):
        raise InternalTopicError(name)
    return name


def _readers(ask: Ask, name: TopicName) -> tuple[str, ...]:
    groups = groups_by_topic(ask.world).get(name, [])
    if not groups:
        return ()
    shown = ", ".join(f"`{group.group}`" for group in groups[:5])
    more = f" and {len(groups) - 5:,} more" if len(groups) > 5 else ""
    return (f"Groups have read this topic: {shown}{more}.",)


def _page(ask: Ask) -> str:
    return f"/topics/{quote(ask.path['topic'], safe='')}"


def _target(ask: Ask) -> str:
    return f"topic {ask.path['topic']}"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _create_command(_ask: Ask, form: CreateForm) -> str:
    words = ["penstock", "topics", "create", form.name]
    words += ["--partitions", str(form.partitions)] if form.partitions else []
    words += ["--replication", str(form.replicas)] if form.replicas else []
    for name, value in _configs(form.configs).items():
        words += ["--config", f"{name}={value}"]
    return shlex.join(words)


def _alter_command(ask: Ask, form: ConfigForm) -> str:
    return shlex.join(
        ["penstock", "topics", "alter", name_of(ask), *command_words(alterations(form))]
    )


def _grow_command(ask: Ask, form: PartitionsForm) -> str:
    words = ["penstock", "topics", "alter", name_of(ask), "--partitions", str(form.partitions)]
    return shlex.join([*words, "--allow-key-move"] if form.allow_key_move else words)


def _purge_command(ask: Ask, form: PurgeForm) -> str:
    words = ["penstock", "topics", "purge", name_of(ask)]
    match form.up_to:
        case "everything":
            words.append("--all")
        case "time":
            words += ["--before-time", _value_in(form)]
        case "offset":
            words += ["--before-offset", _value_in(form)]
    words += [] if form.partition is None else ["--partition", str(form.partition)]
    return shlex.join(words)


CREATE = Action(
    path="/create/topic",
    name="create_topic",
    summary="Create a topic.",
    form=CreateForm,
    question=_creation,
    perform=_create,
    target=lambda _ask: "topics",
    back=lambda _ask: "/topics",
    command=_create_command,
    title="Create topic",
    role=Role.ADMIN,
    menu="Topics",
)

ALTER = Action(
    path="/topics/{topic}/alter",
    name="alter_topic",
    summary="Set and remove configs of a topic.",
    form=ConfigForm,
    question=_alteration,
    perform=_alter,
    target=_target,
    back=lambda ask: f"{_page(ask)}/configs",
    command=_alter_command,
    title="Change configs",
    role=Role.ADMIN,
    menu="Topics",
)

ADD_PARTITIONS = Action(
    path="/topics/{topic}/partitions",
    name="add_partitions",
    summary="Give a topic more partitions; says which keys would move.",
    form=PartitionsForm,
    question=_growth,
    perform=_grow,
    target=_target,
    back=_page,
    command=_grow_command,
    title="Add partitions",
    role=Role.ADMIN,
    menu="Topics",
)

PURGE = Action(
    path="/topics/{topic}/purge",
    name="purge_topic",
    summary="Delete the oldest records of a topic, up to a time or an offset, or all.",
    form=PurgeForm,
    question=_purging,
    perform=_purge,
    target=_target,
    back=_page,
    command=_purge_command,
    title="Delete records",
    role=Role.ADMIN,
    menu="Topics",
)

DELETE = Action(
    path="/topics/{topic}/delete",
    name="delete_topic",
    summary="Delete a topic with all its records.",
    form=NoFields,
    question=_deletion,
    perform=_delete,
    target=_target,
    back=lambda _ask: "/topics",
    command=lambda ask, _form: shlex.join(["penstock", "topics", "delete", name_of(ask)]),
    title="Delete topic",
    role=Role.ADMIN,
    menu="Topics",
)
