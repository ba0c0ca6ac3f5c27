"""What brokers show through Prometheus' JMX exporter, by the names of its example for Kafka.

Only names in lower case are understood; what an exporter does not show, or shows as no number, is
None here.
"""

from __future__ import annotations

import math
import re
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.names import BrokerId

_TIMEOUT_SECONDS = 3.0
_MOST_BYTES = 20_000_000
_MAX_THREADS = 8
_PREFIXES = ("kafka_", "jvm_memory_")
_LINE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class ExporterSilentError(PenstockError):
    """The exporter of a broker does not answer as one."""

    code = "PEN-660"
    retryable = True

    def __init__(self, address: str, *, reason: str) -> None:
        super().__init__(
            f"no metrics from `{address}`: {reason}",
            hint="`broker_metrics` in the profile says where exporters are; `curl` shows what is "
            "there",
        )


class Shown:
    """What one exporter shows."""

    def __init__(self, text: str) -> None:
        self._series: defaultdict[str, list[tuple[dict[str, str], float]]] = defaultdict(list)
        for line in text.splitlines():
            if line.startswith(_PREFIXES) and (match := _LINE.match(line)):
                labels = dict(_LABEL.findall(match[2])) if match[2] else {}
                value = float(match[3])
                if math.isfinite(value):
                    # Versions of the exporter differ in whether they write the end.
                    self._series[match[1].removesuffix("_total")].append((labels, value))

    def __bool__(self) -> bool:
        """Whether it shows anything of Kafka at all."""
        return any(name.startswith("kafka_") for name in self._series)

    def value(self, name: str, **where: str) -> float | None:
        """Return the sum of the series of `name` with these labels; None when there is none."""
        found = [value for _, value in self._matching(name, where)]
        return sum(found) if found else None

    def total(self, name: str) -> float | None:
        """Return the series of `name` that has no labels, or else the sum of those that have some.

        The exporter's example gives the traffic of topics and of the broker the same name.
        """
        whole = next((value for labels, value in self._series.get(name, ()) if not labels), None)
        return self.value(name) if whole is None else whole

    def count(self, name: str, **where: str) -> int | None:
        """Return the same as a whole number."""
        value = self.value(name, **where)
        return None if value is None else round(value)

    def by(self, label: str, name: str, **where: str) -> dict[str, float]:
        """Return the sums of the series of `name` by the values of `label`."""
        sums: defaultdict[str, float] = defaultdict(float)
        for labels, value in self._matching(name, where):
            if label in labels:
                sums[labels[label]] += value
        return dict(sums)

    def _matching(
        self, name: str, where: Mapping[str, str]
    ) -> Iterator[tuple[dict[str, str], float]]:
        for labels, value in self._series.get(name, ()):
            if where.items() <= labels.items():
                yield labels, value


def look(addresses: Mapping[BrokerId, str]) -> dict[BrokerId, Shown | ExporterSilentError]:
    """Return what each exporter shows, or why it shows nothing; they are asked side by side."""
    if not addresses:
        return {}
    with ThreadPoolExecutor(max_workers=min(len(addresses), _MAX_THREADS)) as pool:
        return dict(zip(addresses, pool.map(_looked, addresses.values()), strict=True))


def _looked(address: str) -> Shown | ExporterSilentError:
    # Brokers are asked directly: a proxy for the web does not know their network.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(address, timeout=_TIMEOUT_SECONDS) as answer:
            shown = Shown(answer.read(_MOST_BYTES).decode())
    except (OSError, ValueError, HTTPException) as err:
        return ExporterSilentError(address, reason=str(err))
    return shown or ExporterSilentError(address, reason="it shows nothing of Kafka by these names")
