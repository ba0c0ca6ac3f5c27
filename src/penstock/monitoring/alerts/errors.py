"""What can be wrong with alerts: a rule, a delivery, a silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError
from penstock.names import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable


class UnknownMetricError(UsageError):
    """A rule is about a metric that is not in the catalog."""

    code = "PEN-680"

    def __init__(self, rule: str, metric: str, *, known: Iterable[str]) -> None:
        close = nearest(metric, known)
        super().__init__(
            f"alert rule `{rule}` is about `{metric}`, which is not a metric",
            hint=f"did you mean `{close}`?"
            if close
            else "the page of metrics in the documentation lists them",
        )
        self.rule, self.metric = rule, metric


class UnknownRuleError(UsageError):
    """There is no alert rule of that name."""

    code = "PEN-681"

    def __init__(self, rule: str, *, known: Iterable[str]) -> None:
        known = sorted(known)
        close = nearest(rule, known)
        super().__init__(
            f"there is no alert rule `{rule}`",
            hint=f"did you mean `{close}`?"
            if close
            else f"there are {', '.join(known)}; a rule of your own needs `metric` and `threshold`",
        )
        self.rule = rule


class ImpossibleRuleError(UsageError):
    """An alert rule in the settings cannot be."""

    code = "PEN-682"

    def __init__(self, rule: str, *, reason: str) -> None:
        super().__init__(
            f"alert rule `{rule}` cannot be: {reason}",
            hint=f"change `{rule}` under `[[alerts.rules]]` in `penstock.toml`; `docs/alerts.md` "
            "shows how rules are written",
        )
        self.rule = rule


class DeliveryFailedError(PenstockError):
    """A message about alerts did not arrive where it should, or not everywhere.

    Attributes:
        is_taken: whether it has reached some, who would get it again if it were sent again.
    """

    code = "PEN-683"
    retryable = True

    def __init__(self, delivery: str, *, reason: str, is_taken: bool = False) -> None:
        super().__init__(
            f"`{delivery}` did not take a message{' for all' if is_taken else ''}: {reason}",
            hint=f"`penstock alerts test {delivery}` tries it; its settings are in "
            f"`[alerts.delivery.{delivery}]` of `penstock.toml`",
        )
        self.delivery, self.reason, self.is_taken = delivery, reason, is_taken


class NoDeliveryError(UsageError):
    """There is no delivery of that name, or none at all."""

    code = "PEN-684"

    def __init__(self, delivery: str | None, *, known: Iterable[str]) -> None:
        known = sorted(known)
        close = nearest(delivery or "", known)
        names = ", ".join(f"`{name}`" for name in known)
        super().__init__(
            f"there is no delivery `{delivery}` of alerts"
            if delivery
            else "alerts are delivered nowhere",
            hint=f"did you mean `{close}`?"
            if close
            else f"there are {names}"
            if names
            else "add a table such as [alerts.delivery.ops] to `penstock.toml`",
        )


class UnknownSilenceError(UsageError):
    """There is no silence of that id."""

    code = "PEN-685"

    def __init__(self, silence: str) -> None:
        super().__init__(
            f"there is no silence `{silence}`: it has ended, or never was",
            hint="`penstock alerts list` shows those that there are",
        )
        self.silence = silence


class ImpossibleSilenceError(UsageError):
    """A silence would never end, or nobody would know why."""

    code = "PEN-686"

    def __init__(self, *, reason: str) -> None:
        super().__init__(
            f"a silence cannot be so: {reason}",
            hint="give a time such as `2h` and a reason; switch a rule off for good with "
            "`enabled = false` in `penstock.toml`",
        )
