"""The trail: who did what."""

from datetime import UTC, datetime, timedelta

from penstock.control.trail import Trail, TrailEntry
from penstock.local.cluster import KafkaCluster


def test_the_newest_entries_come_first(kafka: KafkaCluster) -> None:
    trail, at = Trail(kafka.connection), datetime.now(UTC).replace(microsecond=0)
    entries = [
        TrailEntry(
            at=at + timedelta(seconds=n),
            who="alice",
            role="operator",
            address="127.0.0.1",
            action="pause_flow",
            target=f"flow fraud/{n}",
            done="paused" if n % 2 else None,
            refused=None if n % 2 else "it is stopped",
        )
        for n in range(5)
    ]

    for entry in entries:
        trail.record(entry)

    assert trail.last(3) == entries[:1:-1]
    trail.close()
