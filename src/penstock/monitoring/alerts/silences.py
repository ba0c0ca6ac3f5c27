"""Silences: who wants to hear nothing of which alerts, until when, and why."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NewType

from penstock.monitoring.alerts.errors import ImpossibleSilenceError, UnknownRuleError
from penstock.monitoring.alerts.readings import is_like, matches
from penstock.monitoring.catalog import Labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.monitoring.alerts.rules import Rule
    from penstock.monitoring.alerts.states import Alert

SilenceId = NewType("SilenceId", str)

LONGEST = timedelta(days=30)
"""What is silenced for longer is a rule to switch off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Nothing is told of alerts that match until it ends, but that one is over is told."""

    id: SilenceId
    rule: str
    """The name of the rule; `*` and `?` stand for any text."""

    where: Labels = ()
    begun_at: datetime
    until: datetime
    who: str
    why: str

    def covers(self, alert: "Alert", now: datetime) -> bool:
        """Whether nothing is told of `alert` now."""
        return (
            self.begun_at <= now < self.until
            and is_like(alert.rule, self.rule)
            and matches(alert.labels, self.where)
        )


def silence_of(alert: "Alert", silences: "Iterable[Silence]", now: datetime) -> Silence | None:
    """Return the silence that covers `alert` for longest; None when it may be told."""
    covering = [silence for silence in silences if silence.covers(alert, now)]
    return max(covering, key=lambda silence: silence.until, default=None)


def new_silence(
    rule: str,
    where: "Mapping[str, str]",
    *,
    span: timedelta,
    who: str,
    why: str,
    rules: "Sequence[Rule]",
    now: datetime,
) -> Silence:
    """Return a silence that begins now.

    Raises:
        UnknownRuleError: no rule has such a name.
        ImpossibleSilenceError: it would last for no time, or too long, or has no reason.
    """
    names = [known.name for known in rules]
    if not any(is_like(name, rule) for name in names):
        raise UnknownRuleError(rule, known=names)
    if not timedelta() < span <= LONGEST:
        raise ImpossibleSilenceError(reason=f"it must end within {LONGEST.days} days")
    if not why.strip():
        raise ImpossibleSilenceError(reason="it needs a reason")
    return Silence(
        id=SilenceId(uuid.uuid4().hex[:8]),
        rule=rule,
        where=tuple(sorted(where.items())),
        begun_at=now,
        until=now + span,
        who=who,
        why=why.strip(),
    )
