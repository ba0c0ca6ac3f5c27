"""The console on a crowded cluster: how fast its pages are, what it takes, and what it costs idle.

A broker, a registry and the console as processes of their own; `crowded_cluster.py` says what is on
the cluster. Pages are asked for over one HTTP connection, as they are drawn for people: every list
as it comes, by each column, its last page and by words, and the other pages once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
from bench.crowded_cluster import (
    GROUPS,
    PIPELINES,
    TOPICS,
    seed_groups,
    seed_subjects,
    seed_topics,
    speaking_drivers,
)
from bench.machine import describe_machine

from penstock.local.cluster import KafkaCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
BROKER_HEAP_MB = 1_024
IDLE_SECONDS = 60.0
TIMES = 5
HOME_SECONDS, LIST_SECONDS, COMPLETE_SECONDS, MEMORY_MB = 1.0, 2.0, 120.0, 400.0

HOME = "/"
LAST = "page=1000000"
"""A page beyond the end is the last one."""

LISTS = {
    "/pipelines": ("name", "-state", "since", "-reading", "-writing", "-lag", "-age", "-dead"),
    "/topics": (
        *("-topic", "partitions", "-replicas", "-rate", "-offsets", "-disk"),
        *("retention", "-consumers", "-health"),
    ),
    "/topics?internal=yes": ("-offsets",),
    "/cluster/partitions": (),
    "/groups": ("group", "-type", "state", "-members", "-lag", "-seconds", "trend", "loss"),
    "/schemas": ("-subject", "type", "-versions", "-id", "-flows"),
    "/ledger": ("-pipeline", "-written"),
}
"""Each list with the columns to sort it by."""

SEARCHES = {
    "/pipelines?q=p0": ("pipelines", PIPELINES),
    "/topics?q=orders-19": ("topics", 100),
    "/topics?q=ORDERS-0777&sort=-disk": ("topics", 1),
    "/groups?q=reader-0989": ("groups", 10),
    "/groups?q=orders-0123&sort=-lag": ("groups", GROUPS // TOPICS),
    "/schemas?q=topic-77": ("subjects", 11),
}
"""What is found, by the name of the list in the model, and how many that are."""

OTHERS = (
    *("/pipelines/p00", "/pipelines/p00/flows/f00", "/ledger/p00"),
    *("/topics/shop.orders-0777", "/topics/shop.orders-0777/configs"),
    "/topics/shop.orders-0777/records",
    *("/groups/team19.reader-09899", "/groups/penstock.p00.f00"),
    *("/cluster", "/cluster/brokers/1", "/cluster/brokers/1/configs"),
    *("/alerts", "/explorer", "/explorer?metric=penstock_topic_records_per_second&frame=1h"),
    *("/service-levels", "/trail", "/metrics"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One figure and what it must not exceed."""

    what: str
    value: float | None
    """None: the page was not drawn, or does not show what it should."""

    unit: str
    limit: float | None = None
    fault: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value is not None and (self.limit is None or self.value <= self.limit)

    def __str__(self) -> str:
        """Return the line that is printed."""
        if self.value is None:
            return f"{self.what:<60} {'FAILED':>10}     {self.fault}"
        verdict = "" if self.limit is None else f"(limit {self.limit:g}"
        verdict += ": ok)" if verdict and self.is_met else ": MISSED)" if verdict else ""
        return f"{self.what:<60} {self.value:>10.2f} {self.unit:<3} {verdict}"


def main() -> int:
    """Seed, measure, and compare with the limits."""
    print(describe_machine())
    results = []
    with (
        TemporaryDirectory() as folder,
        KafkaCluster.start(
            brokers=1, data_dir=Path(folder) / "kafka", heap_mb=BROKER_HEAP_MB
        ) as kafka,
    ):
        for seed in (seed_topics, seed_groups, seed_subjects):
            name = seed.__name__.replace("_", " ")
            results.append(took(name, lambda seed=seed: seed(kafka.connection)))  # type: ignore[misc]
            print(results[-1], flush=True)
        with (
            speaking_drivers(kafka.connection),
            started("registry", "serve", bootstrap=kafka.bootstrap, folder=folder) as registry,
        ):
            settings = f'[registry]\nurl = "{registry.url}"\n'
            (Path(folder) / "penstock.toml").write_text(settings)
            with started("console", bootstrap=kafka.bootstrap, folder=folder) as console:
                for result in measured(console):
                    results.append(result)
                    print(result, flush=True)
    return 0 if all(result.is_met for result in results) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A command that serves."""

    process: psutil.Process
    url: str
    began: float

    @property
    def memory_mb(self) -> float:
        """What it keeps in memory now."""
        return float(self.process.memory_info().rss) / 1e6

    @property
    def cpu_seconds(self) -> float:
        """What it has computed until now."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def started(*words: str, bootstrap: str, folder: str) -> Iterator[Running]:
    """Run a command of Penstock's until the body has ended."""
    command = [PENSTOCK, *words, "--port", "0", "--bootstrap", bootstrap]
    environment = {"PENSTOCK_PLATFORM_DATA_DIR": str(Path(folder) / "data")}
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**psutil.Process().environ(), **environment},
    ) as process:
        try:
            assert process.stdout is not None  # noqa: S101  # for the type checker: a pipe
            url = process.stdout.readline().split(" at ")[1].split(";")[0].strip()
            yield Running(process=psutil.Process(process.pid), url=url, began=began)
        finally:
            process.terminate()


def measured(console: Running) -> Iterator[Result]:
    """Measure a console that has just said that it is ready."""
    pages = Pages(console.url)
    yield Result(what="start until ready", value=time.perf_counter() - console.began, unit="s")
    while not pages.has_all_groups():
        time.sleep(0.25)
    listed = time.perf_counter() - console.began
    yield Result(what="start until all groups are listed", value=listed, unit="s")
    while not pages.is_complete():
        time.sleep(0.5)
    complete = time.perf_counter() - console.began
    yield Result(
        what="start until all figures are there", value=complete, unit="s", limit=COMPLETE_SECONDS
    )
    yield pages.slowest(HOME, HOME_SECONDS)
    for address in addresses():
        yield pages.slowest(address, LIST_SECONDS)
    for address, (name, count) in SEARCHES.items():
        yield pages.slowest(address, LIST_SECONDS, finds=(name, count))
    before, began = console.cpu_seconds, time.perf_counter()
    time.sleep(IDLE_SECONDS)
    share = (console.cpu_seconds - before) / (time.perf_counter() - began)
    yield Result(what="processor while nobody looks", value=100 * share, unit="%")
    yield Result(what="memory", value=console.memory_mb, unit="MB", limit=MEMORY_MB)


def addresses() -> Iterator[str]:
    """Yield lists: as they come, by each column, and their last page; then other pages."""
    for address, columns in LISTS.items():
        joint = "&" if "?" in address else "?"
        yield address
        yield from (f"{address}{joint}sort={column}" for column in columns)
        yield f"{address}{joint}{LAST}"
    yield from OTHERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What the console says of its list of groups."""

    count: int
    is_complete: bool


class Pages:
    """The pages of a console, over one connection."""

    def __init__(self, url: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)

    def slowest(
        self, address: str, limit: float, *, finds: tuple[str, int] | None = None
    ) -> Result:
        """Return how long a page takes to be drawn, the slowest of several times.

        Args:
            address: the page.
            limit: seconds.
            finds: the name of a list in its model, and how many entries that must have.
        """
        times = []
        for _ in range(TIMES):
            began = time.perf_counter()
            status, _ = self._asked(address, "text/html")
            times.append(time.perf_counter() - began)
            if status != 200:
                return Result(what=address, value=None, unit="s", fault=f"status {status}")
        if finds is not None:
            name, count = finds
            found = json.loads(self._asked(address, "application/json")[1])[name]["total"]
            if found != count:
                fault = f"{found} of {count} {name} are found"
                return Result(what=address, value=None, unit="s", fault=fault)
        return Result(what=address, value=max(times), unit="s", limit=limit)

    def has_all_groups(self) -> bool:
        """Return whether every group is listed."""
        return self._groups().count >= GROUPS

    def is_complete(self) -> bool:
        """Return whether all figures of groups are there."""
        return self._groups().is_complete

    def _groups(self) -> Listed:
        told = json.loads(self._asked("/groups?size=1", "application/json")[1])
        return Listed(count=told["count"], is_complete=told["is_complete"])

    def _asked(self, address: str, kind: str) -> tuple[int, bytes]:
        self._connection.request("GET", address, headers={"Accept": kind})
        response = self._connection.getresponse()
        return response.status, response.read()


def took(what: str, act: Callable[[], object]) -> Result:
    """Return how long something took."""
    began = time.perf_counter()
    act()
    return Result(what=what, value=time.perf_counter() - began, unit="s")


if __name__ == "__main__":
    sys.exit(main())
