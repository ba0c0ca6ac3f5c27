"""What an instance of the registry measures, at `/metrics` as Prometheus reads it.

The names are those of the catalog of metrics, which lies above this package; a test compares them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.responses import PlainTextResponse

from penstock.registry.state import Which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric as Family
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from penstock.registry.state import RegistryState

_CLASSES = frozenset({"subjects", "schemas", "compatibility", "config", "mode", "contexts", "v1"})
"""What the first part of a path says of a request; others are `other`, so that nobody's invention
becomes a label."""


class Figures:
    """Counts requests, and tells what there is at `/metrics`."""

    def __init__(self, state: RegistryState, *, leads: Callable[[], bool]) -> None:
        self._state, self._leads = state, leads
        self._answered: Counter[tuple[str, int]] = Counter()

    def answering(self, app: ASGIApp) -> ASGIApp:
        """Return an application that answers `/metrics`, and else what `app` answers."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["path"] != "/metrics":
                await app(scope, receive, send)
                return
            text = generate_latest(self).decode()
            await PlainTextResponse(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)(scope, receive, send)

        return answer

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Return an application that answers what `app` answers, and counts its answers."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            asked = class_of(scope["path"])

            async def counted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._answered[asked, message["status"]] += 1
                await send(message)

            await app(scope, receive, counted)

        return answer

    def collect(self) -> Iterator[Family]:
        """Return the figures of this moment; the library calls it."""
        versions = self._state.matching(None, Which.LIVE)
        subjects = {version.subject for version in versions}
        yield GaugeMetricFamily(
            "penstock_registry_subjects", "Subjects that are not deleted.", len(subjects)
        )
        yield GaugeMetricFamily(
            "penstock_registry_versions", "Versions of schemas that are not deleted.", len(versions)
        )
        yield GaugeMetricFamily(
            "penstock_registry_leads", "Whether this instance does the writes.", self._leads()
        )
        answered = CounterMetricFamily(
            "penstock_registry_requests",
            "Requests that were answered, by what they ask and the status.",
            labels=("asked", "status"),
        )
        for (asked, status), count in sorted(self._answered.items()):
            answered.add_metric((asked, str(status)), count)
        yield answered


def class_of(path: str) -> str:
    """Return what a request for `path` asks."""
    first = path.split("/", 2)[1] if path.startswith("/") else ""
    return first if first in _CLASSES else "other"
