"""Rules: what must not be, how bad it is when it is, and what is said then.

The ready-made ones are in `ready_made.py`, those of a project in its settings; `rules_of` joins
them. What became of a rule is in `states.py`.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NewType

from penstock.monitoring.alerts.conditions import (
    NO_GROWTH,
    Growth,
    Increase,
    Latest,
    Mean,
    Share,
    span,
)
from penstock.monitoring.alerts.errors import (
    ImpossibleRuleError,
    UnknownMetricError,
    UnknownRuleError,
)
from penstock.monitoring.alerts.readings import Chosen
from penstock.monitoring.catalog import METRICS, MetricKind, MetricName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from penstock.monitoring.alerts.conditions import Condition
    from penstock.monitoring.alerts.readings import Readings
    from penstock.monitoring.catalog import Labels
    from penstock.settings import RuleSettings

RuleName = NewType("RuleName", str)

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Severity(StrEnum):
    """How bad it is."""

    INFO = "info"
    WARNING = "warning"
    """Somebody should look today."""

    CRITICAL = "critical"
    """Data is, or soon will be, lost or not there for those who need it."""


class Comparison(StrEnum):
    """How a number is compared with a threshold."""

    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    EQUAL = "=="
    UNEQUAL = "!="

    def holds(self, number: float, threshold: float) -> bool:
        """Whether `number` is on the bad side of `threshold`."""
        return bool(_COMPARED[self](number, threshold))


_UPWARDS = (Comparison.ABOVE, Comparison.AT_LEAST)

_COMPARED = {
    Comparison.ABOVE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
    Comparison.BELOW: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.EQUAL: operator.eq,
    Comparison.UNEQUAL: operator.ne,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What must not be."""

    name: RuleName
    condition: Condition
    comparison: Comparison
    threshold: float
    hold_seconds: float
    """For how long it must be so before anybody is told, and not be so before all is well."""

    severity: Severity
    message: str
    """What is said, with `{value}`, `{threshold}` and the labels of the series."""

    where: Labels = ()
    enabled: bool = True
    is_ready_made: bool = False

    @property
    def window_seconds(self) -> float:
        """Over which time it looks; 0: at the last value."""
        return 0.0 if isinstance(self.condition, Latest) else self.condition.window_seconds

    def numbers(self, readings: Readings, now: datetime) -> Mapping[Labels, float]:
        """Return what is compared with the threshold, for each series."""
        return self.condition.numbers(Chosen(readings, self.where) if self.where else readings, now)

    def is_broken_by(self, number: float) -> bool:
        """Whether a number must not be."""
        return self.comparison.holds(number, self.threshold)

    def is_still_broken_by(self, number: float) -> bool:
        """Whether what fires goes on: growth does as long as there is any."""
        grows = isinstance(self.condition, Growth) and self.comparison in _UPWARDS
        return self.is_broken_by(number) or (grows and number > NO_GROWTH)

    def said_of(self, labels: Labels, number: float) -> str:
        """Return the message for a series with this number."""
        unit = self.condition.unit
        values = dict(labels) | {
            "value": shown(number, unit),
            "threshold": shown(self.threshold, unit),
        }
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), self.message)


def shown(number: float, unit: str) -> str:
    """Return a number as people read it."""
    match unit:
        case "ratio":
            return f"{number:.3%}" if 0 < number < 0.001 else f"{number:.1%}"
        case "times":
            return f"{number:.3g} times"
        case "seconds":
            return span(number)
        case "bytes" | "bytes per second":
            return _bytes(number) + unit.removeprefix("bytes").replace(" per second", "/s")
        case _:
            return f"{number:,.0f}" if number == int(number) or number >= 100 else f"{number:.3g}"


def _bytes(count: float) -> str:
    for name in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.3g} {name}"
        count /= 1000
    return f"{count:.3g} TB"


def rules_of(settings: Iterable[RuleSettings], ready_made: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the ready-made rules as the settings change them, and those that they add.

    Raises:
        UnknownMetricError: a rule is about a metric that is not in the catalog.
        UnknownRuleError: a rule is to be like one that there is not.
        ImpossibleRuleError: a rule cannot be, or something is missing.
    """
    rules = {rule.name: rule for rule in ready_made}
    known = dict(rules)
    for given in settings:
        name = RuleName(given.name)
        begun = _begun_as(given, known)
        if begun is None:
            begun = _new(given)
        else:
            begun = replace(begun, name=name, is_ready_made=begun.name == name)
        rules[name] = _changed(begun, given)
    return tuple(rules.values())


def _begun_as(given: RuleSettings, known: Mapping[RuleName, Rule]) -> Rule | None:
    """Return the ready-made rule that a setting is about; None when it makes a new one."""
    wanted = RuleName(given.like or given.name)
    if wanted in known:
        if given.metric is not None:
            reason = f"the metric of `{wanted}` is given; leave `metric` out"
            raise ImpossibleRuleError(given.name, reason=reason)
        return known[wanted]
    if given.like is not None or given.metric is None:
        raise UnknownRuleError(wanted, known=known)
    return None


def _new(given: RuleSettings) -> Rule:
    metric = METRICS.get(MetricName(given.metric or ""))
    if metric is None:
        raise UnknownMetricError(given.name, given.metric or "", known=METRICS)
    if metric.kind is MetricKind.HISTOGRAM:
        reason = f"`{metric.name}` is a histogram; its quantiles are metrics of their own"
        raise ImpossibleRuleError(given.name, reason=reason)
    if given.threshold is None:
        raise ImpossibleRuleError(given.name, reason="`threshold` is missing")
    condition: Condition
    if metric.kind is MetricKind.COUNTER:
        if given.window_seconds is None:
            reason = f"`{metric.name}` only grows: say in which time, as `window_seconds`"
            raise ImpossibleRuleError(given.name, reason=reason)
        condition = Increase(metric.name, given.window_seconds)
    elif given.window_seconds is not None:
        condition = Mean(metric.name, given.window_seconds)
    else:
        condition = Latest(metric.name)
    labels = "".join(f" {label} `{{{label}}}`" for label in metric.labels)
    return Rule(
        name=RuleName(given.name),
        condition=condition,
        comparison=Comparison.ABOVE,
        threshold=given.threshold,
        hold_seconds=60.0,
        severity=Severity.WARNING,
        message=f"{metric.name} is {{value}}{',' if labels else ''}{labels}",
    )


def _changed(rule: Rule, given: RuleSettings) -> Rule:
    condition = rule.condition
    if given.window_seconds is not None:
        if not isinstance(condition, Mean | Increase | Share | Growth):
            reason = "it looks at the last value and has no window; leave `window_seconds` out"
            raise ImpossibleRuleError(given.name, reason=reason)
        condition = replace(condition, window_seconds=given.window_seconds)
    labels = METRICS[condition.metric].labels
    where = tuple(sorted((given.where or {}).items()))
    if unknown := [label for label, _ in where if label not in labels]:
        reason = f"`{condition.metric}` has no label `{unknown[0]}`: it has {_listed(labels)}"
        raise ImpossibleRuleError(given.name, reason=reason)
    message = given.message or rule.message
    allowed = {"value", "threshold", *labels}
    if strange := [name for name in _PLACEHOLDER.findall(message) if name not in allowed]:
        reason = f"its message has `{{{strange[0]}}}`: there are {_listed(sorted(allowed))}"
        raise ImpossibleRuleError(given.name, reason=reason)
    return replace(
        rule,
        condition=condition,
        comparison=Comparison(given.comparison) if given.comparison else rule.comparison,
        threshold=rule.threshold if given.threshold is None else given.threshold,
        hold_seconds=rule.hold_seconds if given.for_seconds is None else given.for_seconds,
        severity=Severity(given.severity) if given.severity else rule.severity,
        message=message,
        where=where or rule.where,
        enabled=rule.enabled if given.enabled is None else given.enabled,
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
