"""What can be done with a group: moving its positions, and deleting it.

Names of groups may hold anything, also slashes. So what is done stands before them in addresses: a
group called `orders/delete` has a page, too.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from penstock.console.access.roles import Role
from penstock.console.errors import InvalidFormError
from penstock.console.frame import Action, Question, Table
from penstock.console.frame.actions import Form, NoFields
from penstock.errors import UsageError
from penstock.kafka import (
    Admin,
    CommittedOffset,
    ResetPlan,
    ResetTarget,
    ShiftBy,
    ToEarliest,
    ToLatest,
    ToOffset,
    TopicPartition,
    TopicSelection,
    ToTime,
    apply_reset,
    delete_groups,
    describe_group,
    plan_import,
    plan_reset,
)
from penstock.monitoring.groups import flow_of
from penstock.names import GroupId, Offset, Partition, TopicName
from penstock.pipeline import parse_moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.console.frame import Ask

_MOST_ROWS = 500
# Fields of the form, as errors name them.
_VALUE, _TOPICS, _OFFSETS = "value", "topics", "offsets"


class ResetForm(Form):
    """Where to, and what of the group."""

    to: Literal["start", "end", "time", "offset", "shift"] = Field(
        title="Move to",
        description="The first record that is left, the end, a time, an offset, or by a number of "
        "records.",
    )
    value: str | None = Field(
        default=None,
        title="Time, offset or number",
        description="A time is 6h, for ago, or 2026-05-01T12:00:00Z; a negative number shifts "
        "backwards.",
    )
    topics: str | None = Field(
        default=None,
        title="Topics",
        description="orders, or orders:0,1 for some of its partitions; several with spaces between "
        "them. Empty: all in which the group has committed.",
    )
    offsets: str | None = Field(default=None, json_schema_extra={"hidden": True})


class PositionsMovedError(UsageError):
    """What a reset was going to write is not there any more."""

    code = "PEN-671"

    def __init__(self, group: str, *, partition: str) -> None:
        super().__init__(
            f"group `{group}` was not reset: `{partition}` does not have the offset any more that "
            "was shown",
            hint="look at the new plan and confirm that; retention has deleted records meanwhile, "
            "or the topic was made anew",
        )


class _Position(BaseModel):
    topic: str
    partition: int
    offset: int


_POSITIONS = TypeAdapter(list[_Position])


def _question(ask: Ask, form: ResetForm) -> Question:
    group = _group(ask)
    with Admin(ask.world.connection) as admin:
        plan = plan_reset(admin, group, _target(form), topics=_selections(form.topics))
    return Question(
        sentence=f"Move group `{group}` in {_counted(len(plan.changes), 'partition')}: its members "
        "will read from there when they start again.",
        button="Reset",
        preview=_preview(plan),
        warnings=tuple(_warnings(plan)),
        is_dangerous=True,
        settled={"offsets": _offsets_text(plan)},
    )


def _perform(ask: Ask, form: ResetForm) -> str:
    group = _group(ask)
    with Admin(ask.world.connection) as admin:
        if form.offsets is None:  # a program that did not ask before
            plan = plan_reset(admin, group, _target(form), topics=_selections(form.topics))
        else:
            plan = plan_import(admin, group, _commits(form.offsets))
            for change in plan.changes:
                if change.after.offset != change.wanted:
                    raise PositionsMovedError(group, partition=str(change.partition))
        apply_reset(admin, plan)
    ask.world.hasten("groups")
    return f"Group `{group}` was moved in {_counted(len(plan.changes), 'partition')}."


def _preview(plan: ResetPlan) -> Table:
    rows = [
        (
            str(change.partition),
            _number(change.before.committed),
            _number(change.after.offset),
            _number(change.before.lag),
            _number(change.lag_after),
            "" if change.after.offset == change.wanted else f"nearest to {change.wanted:,}",
        )
        for change in plan.changes
    ]
    rows += [(str(partition), "", "stays as it is", "", "", "") for partition in plan.left]
    more = len(rows) - _MOST_ROWS
    if more > 0:
        rows = [*rows[:_MOST_ROWS], (f"and {more:,} more", "", "", "", "", "")]
    head = ("Partition", "Position", "New position", "Lag", "New lag", "")
    return Table(head=head, rows=tuple(rows))


def _warnings(plan: ResetPlan) -> Sequence[str]:
    found = []
    flow = flow_of(plan.group)
    if flow is not None:
        found.append(
            f"This group only shows how far flow `{flow.flow}` of pipeline `{flow.pipeline}` has "
            "read. The flow goes on from its checkpoint: resetting the group changes nothing of "
            "it, and its next batch writes the group again."
        )
    if plan.members:
        clients = ", ".join(sorted({item.client_id for item in plan.members}))
        found.append(
            f"The group has {_counted(len(plan.members), 'member')} ({clients}) and will not be "
            "reset before they have left: stop them first."
        )
    return found


def _target(form: ResetForm) -> ResetTarget:
    if form.to == "start":
        return ToEarliest()
    if form.to == "end":
        return ToLatest()
    if form.to == "time":
        text = _moment_in(form)
        try:
            return ToTime(parse_moment(text))
        except (ValueError, OverflowError, OSError):
            reason = f"`{text}` is no time; write 6h or 2026-05-01T12:00:00Z"
            raise InvalidFormError(_VALUE, reason=reason) from None
    number = _number_in(form)
    if form.to == "shift":
        return ShiftBy(number)
    if number < 0:
        raise InvalidFormError(_VALUE, reason="offsets begin at 0")
    return ToOffset(Offset(number))


def _moment_in(form: ResetForm) -> str:
    return (form.value or "").strip().removesuffix(" ago")


def _number_in(form: ResetForm) -> int:
    """Return the number that was entered, also as pages write it: `1,000`."""
    text = (form.value or "").strip()
    try:
        return int(text.replace(",", ""))
    except ValueError:
        raise InvalidFormError(_VALUE, reason=f"`{text}` is no whole number") from None


def _selections(text: str | None) -> list[TopicSelection] | None:
    words = (text or "").split()
    return [_selection(word) for word in words] or None


def _selection(word: str) -> TopicSelection:
    topic, colon, numbers = word.partition(":")
    if not colon:
        return TopicSelection(topic=TopicName(topic))
    try:
        partitions = tuple(Partition(int(number)) for number in numbers.split(","))
    except ValueError:
        reason = f"`{word}` is no topic; write orders or orders:0,1"
        raise InvalidFormError(_TOPICS, reason=reason) from None
    return TopicSelection(topic=TopicName(topic), partitions=partitions)


def _offsets_text(plan: ResetPlan) -> str:
    positions = [
        {
            "topic": change.partition.topic,
            "partition": change.partition.partition,
            "offset": change.after.offset,
        }
        for change in plan.changes
    ]
    return json.dumps(positions)


def _commits(text: str) -> Mapping[TopicPartition, CommittedOffset]:
    try:
        positions = _POSITIONS.validate_json(text)
    except ValidationError:
        reason = "these are not the positions of a plan"
        raise InvalidFormError(_OFFSETS, reason=reason) from None
    return {
        TopicPartition(TopicName(item.topic), Partition(item.partition)): CommittedOffset(
            offset=Offset(item.offset)
        )
        for item in positions
    }


def _reset_command(ask: Ask, form: ResetForm) -> str:
    words = ["penstock", "groups", "reset", ask.path["group"]]
    for topic in (form.topics or "").split():
        words += ["--topic", topic]
    if not form.topics:
        words.append("--all-topics")
    match form.to:
        case "start":
            words.append("--to-earliest")
        case "end":
            words.append("--to-latest")
        case "time":
            words += ["--to-time", _moment_in(form)]
        case "offset":
            words += ["--to-offset", str(_number_in(form))]
        case "shift":
            words += ["--shift", str(_number_in(form))]
    return shlex.join([*words, "--execute"])


def _deletion(ask: Ask, _form: NoFields) -> Question:
    group = _group(ask)
    with Admin(ask.world.connection) as admin:
        found = describe_group(admin, group)
    kept = [item for item in found.partitions if item.committed is not None]
    warnings = []
    if found.members:
        members = _counted(len(found.members), "member")
        warnings.append(f"The group has {members}, and is not deleted before they have left.")
    if flow_of(group) is not None:
        warnings.append("A flow writes this group: its next batch makes it again.")
    return Question(
        sentence=f"Delete group `{group}` with what it has committed: its members will begin where "
        "their own settings say.",
        button="Delete",
        preview=Table(
            head=("Partition", "Position", "Lag"),
            rows=tuple(
                (str(item.partition), _number(item.committed), _number(item.lag))
                for item in kept[:_MOST_ROWS]
            ),
        ),
        warnings=tuple(warnings),
        is_dangerous=True,
    )


def _delete(ask: Ask, _form: NoFields) -> str:
    group = _group(ask)
    with Admin(ask.world.connection) as admin:
        delete_groups(admin, [group])
    ask.world.hasten("groups")
    return f"Group `{group}` was deleted."


def _group(ask: Ask) -> GroupId:
    return GroupId(ask.path["group"])


def _page(ask: Ask) -> str:
    return f"/groups/{quote(ask.path['group'], safe='')}"


def _target_name(ask: Ask) -> str:
    return f"group {ask.path['group']}"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


RESET = Action(
    path="/reset/group/{group:path}",
    name="reset_group",
    summary="Move the positions of a group without members.",
    form=ResetForm,
    question=_question,
    perform=_perform,
    target=_target_name,
    back=_page,
    command=_reset_command,
    title="Reset group",
    role=Role.OPERATOR,
    menu="Groups",
)

DELETE = Action(
    path="/delete/group/{group:path}",
    name="delete_group",
    summary="Delete a group without members, with what it has committed.",
    form=NoFields,
    question=_deletion,
    perform=_delete,
    target=_target_name,
    back=lambda _ask: "/groups",
    command=lambda ask, _form: shlex.join(["penstock", "groups", "delete", ask.path["group"]]),
    title="Delete group",
    role=Role.ADMIN,
    menu="Groups",
)
