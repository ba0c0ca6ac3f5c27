"""What can be done to pipelines and flows: pause, resume, stop, restart, another log level.

Each is begun and answered by the driver; the page that follows shows how it goes on.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from pydantic import Field

from penstock.console.access.roles import Role
from penstock.console.frame import Action, Question
from penstock.console.frame.actions import Form, NoFields
from penstock.console.pipelines.finding import flow_of, pipeline_of
from penstock.control.commands import (
    LONGEST_LEVEL_SECONDS,
    LogLevel,
    Pause,
    Restart,
    Resume,
    SetLogLevel,
    Stop,
)
from penstock.names import FlowName

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.console.frame import Ask
    from penstock.control.commands import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verb:
    """Something that is done to one flow, or to all of a pipeline."""

    name: str
    title: str
    command: Callable[[FlowName | None], Command]
    of_flow: str
    """What happens to one flow; `{}` is its name."""

    of_pipeline: str


_VERBS = (
    _Verb(
        name="pause",
        title="Pause",
        command=lambda flow: Pause(flow=flow),
        of_flow="Pause `{}`: it finishes its batch and rests. Its place and its state are kept.",
        of_pipeline="Pause all flows of `{}`: they finish their batches and then rest.",
    ),
    _Verb(
        name="resume",
        title="Resume",
        command=lambda flow: Resume(flow=flow),
        of_flow="Resume `{}`: it goes on where it was.",
        of_pipeline="Resume all flows of `{}` that rest: they go on where they were.",
    ),
    _Verb(
        name="stop",
        title="Stop",
        command=lambda flow: Stop(flow=flow),
        of_flow="Stop `{}` after its batch. `Resume` lets it go on where it was.",
        of_pipeline="Stop `{}`: its flows finish their batches, and its driver ends. "
        "`penstock start` in its project starts it again, where it was.",
    ),
    _Verb(
        name="restart",
        title="Restart",
        command=lambda flow: Restart(flow=flow),
        of_flow="Restart `{}` after its batch: a new query goes on where it was.",
        of_pipeline="Restart `{}`: its flows finish their batches, and a new driver goes on with "
        "the code and the settings of its project as they are then.",
    ),
)


class LevelForm(Form):
    """For how long a logger writes more, or less."""

    logger: Annotated[
        str,
        Field(
            title="Logger",
            description="A Java package or class with all below it, or `root`",
            min_length=1,
            max_length=300,
        ),
    ] = "org.apache.spark"
    level: Annotated[LogLevel, Field(title="Level")] = LogLevel.DEBUG
    for_seconds: Annotated[
        float,
        Field(
            title="For how many seconds",
            description="Then the level goes back by itself",
            gt=0,
            le=LONGEST_LEVEL_SECONDS,
        ),
    ]


def _begin(ask: Ask, command: Command) -> str:
    overview = pipeline_of(ask)
    said = ask.world.operator().begin(
        overview.pipeline, command, by=f"{ask.user.name} in the console"
    )
    ask.world.hasten("pipelines")
    return f"{said[:1].upper()}{said[1:]}."


def _page(ask: Ask) -> str:
    place = f"/pipelines/{quote(ask.path['pipeline'], safe='')}"
    return f"{place}/flows/{quote(ask.path['flow'], safe='')}" if "flow" in ask.path else place


def _target(ask: Ask) -> str:
    pipeline = ask.path["pipeline"]
    return f"flow {pipeline}/{ask.path['flow']}" if "flow" in ask.path else f"pipeline {pipeline}"


def _flow_action(verb: _Verb) -> Action[NoFields]:
    def question(ask: Ask, _form: NoFields) -> Question:
        flow = flow_of(ask, pipeline_of(ask))
        return Question(sentence=verb.of_flow.format(flow.flow), button=verb.title)

    def perform(ask: Ask, _form: NoFields) -> str:
        return _begin(ask, verb.command(FlowName(ask.path["flow"])))

    def command(ask: Ask, _form: NoFields) -> str:
        pipeline, flow = shlex.quote(ask.path["pipeline"]), shlex.quote(ask.path["flow"])
        return f"penstock {verb.name} {pipeline} --flow {flow}"

    return Action(
        path=f"/pipelines/{{pipeline}}/flows/{{flow}}/{verb.name}",
        name=f"{verb.name}_flow",
        summary=f"{verb.title} one flow of a pipeline.",
        form=NoFields,
        question=question,
        perform=perform,
        target=_target,
        back=_page,
        command=command,
        title=f"{verb.title} a flow",
        role=Role.OPERATOR,
        menu="Pipelines",
    )


def _pipeline_action(verb: _Verb) -> Action[NoFields]:
    def question(ask: Ask, _form: NoFields) -> Question:
        pipeline = pipeline_of(ask).pipeline
        return Question(sentence=verb.of_pipeline.format(pipeline), button=verb.title)

    def perform(ask: Ask, _form: NoFields) -> str:
        return _begin(ask, verb.command(None))

    def command(ask: Ask, _form: NoFields) -> str:
        return f"penstock {verb.name} {shlex.quote(ask.path['pipeline'])}"

    return Action(
        path=f"/pipelines/{{pipeline}}/{verb.name}",
        name=f"{verb.name}_pipeline",
        summary=f"{verb.title} a pipeline.",
        form=NoFields,
        question=question,
        perform=perform,
        target=_target,
        back=_page,
        command=command,
        title=f"{verb.title} a pipeline",
        role=Role.OPERATOR,
        menu="Pipelines",
    )


def _ask_level(ask: Ask, form: LevelForm) -> Question:
    pipeline = pipeline_of(ask).pipeline
    return Question(
        sentence=f"Let `{form.logger}` of `{pipeline}` write from `{form.level}` on for "
        f"{_seconds(form)} seconds; then it goes back by itself.",
        button="Set the level",
    )


def _set_level(ask: Ask, form: LevelForm) -> str:
    command = SetLogLevel(logger=form.logger, level=form.level, for_seconds=form.for_seconds)
    return _begin(ask, command)


def _seconds(form: LevelForm) -> str:
    """Return the seconds with all their digits: neither people nor commands read `1e+06`."""
    return f"{form.for_seconds:f}".rstrip("0").rstrip(".")


def _level_command(ask: Ask, form: LevelForm) -> str:
    pipeline, logger = shlex.quote(ask.path["pipeline"]), shlex.quote(form.logger)
    return f"penstock log-level {pipeline} {logger} {form.level} --for {_seconds(form)}"


LOG_LEVEL = Action(
    path="/pipelines/{pipeline}/log-level",
    name="set_log_level",
    summary="Let a logger of a pipeline's Java write more or less for a while.",
    form=LevelForm,
    question=_ask_level,
    perform=_set_level,
    target=_target,
    back=_page,
    command=_level_command,
    title="Set a log level",
    role=Role.OPERATOR,
    menu="Pipelines",
)

ACTIONS: tuple[Action[Any], ...] = (
    *(_flow_action(verb) for verb in _VERBS),
    *(_pipeline_action(verb) for verb in _VERBS),
    LOG_LEVEL,
)
