"""What can be done about alerts: silence them for a while, and end a silence."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from pydantic import Field

from penstock.console.access.roles import Role
from penstock.console.frame import Action, Question, Table
from penstock.console.frame.actions import Form, NoFields
from penstock.monitoring.alerts import (
    ImpossibleSilenceError,
    Silence,
    SilenceId,
    UnknownSilenceError,
    new_silence,
)
from penstock.pipeline import parse_span

if TYPE_CHECKING:
    from penstock.console.frame import Ask


class SilenceForm(Form):
    """Which alerts to silence, until when, and why."""

    rule: str = Field(title="Rule", description="Its name; * stands for any text.")
    where: str | None = Field(
        default=None,
        title="Only for",
        description="Labels, one a line, such as group=orders-*; nothing: all of the rule.",
        json_schema_extra={"long": True},
    )
    span: str = Field(default="2h", title="For how long", description="30m, 6h or 7d.")
    why: str = Field(title="Why", description="For whoever wonders.")


def _begun(ask: Ask, form: SilenceForm) -> Silence:
    span = parse_span(form.span.strip())
    if span is None:
        raise ImpossibleSilenceError(reason=f"`{form.span}` is not a length of time such as 2h")
    return new_silence(
        form.rule.strip(),
        _labels(form.where or ""),
        span=span,
        who=ask.user.name,
        why=form.why,
        rules=ask.world.alerts.rules,
        now=ask.at,
    )


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _labels(text: str) -> dict[str, str]:
    lines = _lines(text)
    pairs = [re.fullmatch(r"(\w+)=(.*)", line) for line in lines]
    if strange := [line for line, pair in zip(lines, pairs, strict=True) if pair is None]:
        raise ImpossibleSilenceError(reason=f"`{strange[0]}` is not a label such as group=orders")
    return {pair[1]: pair[2] for pair in pairs if pair is not None}


def _question(ask: Ask, form: SilenceForm) -> Question:
    silence = _begun(ask, form)
    view = ask.world.alerts.view()
    covered = [
        item.alert for item in (view.alerts if view else ()) if silence.covers(item.alert, ask.at)
    ]
    return Question(
        sentence=f"Nothing is told of alerts of `{silence.rule}` until "
        f"{silence.until:%Y-%m-%d %H:%M} UTC. That they are over is told.",
        button="Silence",
        preview=Table(
            head=("Covered now", "State", "Message"),
            rows=tuple((alert.rule, str(alert.phase), alert.message) for alert in covered),
        )
        if covered
        else None,
        warnings=() if covered else ("It covers no alert of this moment.",),
    )


def _silence(ask: Ask, form: SilenceForm) -> str:
    silence = _begun(ask, form)
    ask.world.alerts.add_silence(silence)
    only = f" for {' '.join(_lines(form.where or ''))}" if _lines(form.where or "") else ""
    until = f"{silence.until:%Y-%m-%d %H:%M} UTC"
    return f"Alerts of {silence.rule}{only} are silent until {until}: {form.why}"


def _command(_ask: Ask, form: SilenceForm) -> str:
    labels = [f"--where {shlex.quote(line)}" for line in _lines(form.where or "")]
    parts = [shlex.quote(form.rule.strip()), *labels, f"--for {shlex.quote(form.span.strip())}"]
    return f"penstock alerts silence {' '.join(parts)} --why {shlex.quote(form.why)}"


def _found(ask: Ask) -> Silence:
    view = ask.world.alerts.view()
    silences = view.silences if view else ()
    wanted = ask.path["silence"]
    found = next((silence for silence in silences if silence.id == wanted), None)
    if found is None:
        raise UnknownSilenceError(wanted)
    return found


def _end_question(ask: Ask, _form: NoFields) -> Question:
    silence = _found(ask)
    return Question(
        sentence=f"End the silence of `{silence.rule}` by {silence.who} ({silence.why}): what "
        "fires is told.",
        button="End",
    )


def _end(ask: Ask, _form: NoFields) -> str:
    ended = ask.world.alerts.end_silence(SilenceId(ask.path["silence"]))
    return f"The silence of {ended.rule} has ended."


SILENCE = Action(
    path="/alerts/silence",
    name="silence_alerts",
    summary="Let nothing be told of some alerts for a while.",
    form=SilenceForm,
    question=_question,
    perform=_silence,
    target=lambda _ask: "alerts",
    back=lambda _ask: "/alerts",
    command=_command,
    title="Silence alerts",
    role=Role.OPERATOR,
    menu="Alerts",
)

END_SILENCE = Action(
    path="/alerts/silences/{silence}/end",
    name="end_silence",
    summary="End a silence of alerts.",
    form=NoFields,
    question=_end_question,
    perform=_end,
    target=lambda ask: f"silence {ask.path['silence']}",
    back=lambda _ask: "/alerts",
    command=lambda ask, _form: f"penstock alerts unsilence {shlex.quote(ask.path['silence'])}",
    title="End a silence",
    role=Role.OPERATOR,
    menu="Alerts",
)
