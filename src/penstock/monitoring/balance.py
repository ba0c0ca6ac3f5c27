"""How evenly brokers share their work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.monitoring.brokers import BrokerFigures

FEWEST_LEADERS = 10
"""Per broker: with fewer, one partition more or less looks like a lot."""

LEAST_BYTES_PER_SECOND = 100_000.0
"""In all: below that brokers do next to nothing, however it is shared."""


def leader_imbalance(brokers: Sequence[BrokerFigures]) -> float:
    """Return how many leaders the broker with most has, compared with an even share."""
    counts = [broker.leader_count for broker in brokers if broker.is_reachable]
    return _imbalance(counts, least=FEWEST_LEADERS * len(counts))


def traffic_imbalance(brokers: Sequence[BrokerFigures]) -> float:
    """Return the same of the bytes that come in and go out, of brokers that tell."""
    rates = [
        (broker.measured.bytes_in_per_second or 0) + (broker.measured.bytes_out_per_second or 0)
        for broker in brokers
        if broker.is_reachable and broker.measured is not None
    ]
    return _imbalance(rates, least=LEAST_BYTES_PER_SECOND)


def _imbalance(shares: Sequence[float], *, least: float) -> float:
    if len(shares) < 2 or sum(shares) < least:
        return 1.0
    return max(shares) * len(shares) / sum(shares)
