"""Evaluation: the numbers of all rules in one round of sampling."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from penstock.monitoring.alerts.readings import Readings
    from penstock.monitoring.alerts.rules import Rule, RuleName
    from penstock.monitoring.catalog import Labels

logger = logging.getLogger(__name__)

_PARTS = 20
"""What looks at a time is computed anew after this part of it: less would not change it much."""


class Evaluation:
    """Computes what rules compare, round after round."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [rule for rule in rules if rule.enabled]
        self._known: dict[RuleName, tuple[datetime, Mapping[Labels, float]]] = {}

    def numbers(self, readings: Readings, now: datetime) -> dict[RuleName, Mapping[Labels, float]]:
        """Return the numbers of each rule; one whose series could not be read is left out."""
        found = ((rule.name, self._numbers(rule, readings, now)) for rule in self._rules)
        return {name: numbers for name, numbers in found if numbers is not None}

    def _numbers(
        self, rule: Rule, readings: Readings, now: datetime
    ) -> Mapping[Labels, float] | None:
        known = self._known.get(rule.name)
        if known is not None:
            at, numbers = known
            if now - at < timedelta(seconds=rule.window_seconds / _PARTS):
                return numbers
        try:
            numbers = rule.numbers(readings, now)
        except PenstockError as error:
            logger.warning(
                "alert rule not evaluated", extra={"rule": rule.name, "reason": error.message}
            )
            return None
        self._known[rule.name] = now, numbers
        return numbers
