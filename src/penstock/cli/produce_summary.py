"""What `penstock produce` says when it has ended: counts, rate, latency, and what failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from penstock.cli.rendering import human_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.kafka import ProducerMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came of a run."""

    topic: str
    metrics: ProducerMetrics
    failed: int
    wrong_lines: int
    first_reason: str | None
    seconds: float
    errors_file: Path | None
    interrupted: bool

    @property
    def rate(self) -> float:
        """Delivered records per second."""
        return self.metrics.delivered / self.seconds if self.seconds else 0.0

    def as_json(self) -> dict[str, object]:
        """Return what `--json` prints."""
        metrics = self.metrics
        latency = metrics.latency
        return {
            "topic": self.topic,
            "delivered": metrics.delivered,
            "failed": self.failed,
            "wrong_lines": self.wrong_lines,
            "bytes": metrics.sent_bytes,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self.rate, 1),
            "latency_seconds": None
            if latency is None
            else {
                "p50": latency.p50,
                "p95": latency.p95,
                "p99": latency.p99,
                "maximum": latency.maximum,
            },
            "errors_file": self.errors_file,
            "interrupted": self.interrupted,
        }


def tell(summary: Summary) -> None:
    """Say on stderr what came of the run."""
    metrics, latency = summary.metrics, summary.metrics.latency
    if summary.interrupted:
        fate = "" if summary.failed else "; what was read before has been sent"
        click.echo(f"stopped{fate}", err=True)
    click.echo(
        f"{_counted(metrics.delivered, 'record')} delivered to {summary.topic} in "
        f"{summary.seconds:.2f} s: "
        f"{summary.rate:,.0f} records/s, {human_bytes(metrics.sent_bytes)}",
        err=True,
    )
    if latency is not None:
        click.echo(
            f"latency: p50 {_ms(latency.p50)}, p95 {_ms(latency.p95)}, p99 {_ms(latency.p99)}, "
            f"longest {_ms(latency.maximum)}",
            err=True,
        )
    if summary.failed or summary.wrong_lines:
        _tell_failures(summary)


def _tell_failures(summary: Summary) -> None:
    parts = [
        f"{_counted(count, noun)} {fate}"
        for count, noun, fate in (
            (summary.failed, "record", "failed"),
            (summary.wrong_lines, "line", "could not be understood"),
        )
        if count
    ]
    where = f", put aside in `{summary.errors_file}`" if summary.errors_file else ""
    click.echo(f"{', '.join(parts)}{where}; the first: {summary.first_reason}", err=True)
    if summary.failed and summary.errors_file:
        again = f"penstock produce {summary.topic} --format records {summary.errors_file}"
        click.echo(f"\n{click.style('hint', fg='cyan')}: `{again}` sends them again", err=True)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
