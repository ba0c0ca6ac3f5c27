"""The world as the console sees it: sampled every few seconds, read by every page.

No page waits for a list: each thing that is watched has a thread of its own that looks at it again
and again, and what it saw last is what pages show, with its age. While Kafka is away the last look
stays, `faults` says why there is no newer one, and `as_of` how old it is.

What the console changes is looked at as soon as it has changed (`hasten`), and what pages show more
often while somebody has one open (`followed`) than while nobody does.
"""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Literal, Self

from penstock.control.detached import Detached
from penstock.control.figures import samples_of
from penstock.control.operating import Operator
from penstock.control.trail import Trail
from penstock.errors import PenstockError
from penstock.local.platform import broker_metrics, registry_address
from penstock.monitoring.alerts import (
    READY_MADE,
    AlertWatch,
    HistoryReadings,
    UnkeptReadings,
    open_deliveries,
    rules_of,
)
from penstock.monitoring.brokers import BrokerSampler
from penstock.monitoring.catalog import sample
from penstock.monitoring.catalog.brokers import BROKERS, CLUSTER_ANSWERS
from penstock.monitoring.catalog.clients import CLIENTS
from penstock.monitoring.catalog.flows import FLOWS
from penstock.monitoring.catalog.groups import GROUPS
from penstock.monitoring.catalog.hosts import HOSTS
from penstock.monitoring.catalog.registry import REGISTRY
from penstock.monitoring.catalog.service_levels import SERVICE_LEVELS
from penstock.monitoring.catalog.topics import TOPICS
from penstock.monitoring.clients import client_samples
from penstock.monitoring.exposition import samples_in
from penstock.monitoring.groups import GroupSampler
from penstock.monitoring.history import History, HistoryWriteError
from penstock.monitoring.hosts import HostSampler
from penstock.monitoring.pace import Pace
from penstock.monitoring.service_levels import compliance, samples_of_levels
from penstock.monitoring.topics import TopicSampler
from penstock.registry.client import RegistryClient
from penstock.settings import AlertSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from penstock.control.overviews import Overview
    from penstock.kafka import ClusterDescription, Connection
    from penstock.monitoring.catalog import Metric, MetricName, Sample
    from penstock.monitoring.service_levels import Compliance
    from penstock.names import BrokerId, PipelineName
    from penstock.registry.client import RegistryAddress
    from penstock.schemas import RegisteredSchema
    from penstock.settings import MaskSettings, Settings

logger = logging.getLogger(__name__)

_REQUEST_SECONDS = 5.0
_PIPELINE_SECONDS = 5.0
_BROKER_SECONDS = _TOPIC_SECONDS = _GROUP_SECONDS = 10.0
"""As often as what they measure is kept and alerts are looked at."""

_HOST_SECONDS = 10.0
_CLIENT_SECONDS = 10.0
_SCHEMA_SECONDS = 15.0
_REGISTRY_SECONDS = 15.0
_SERVICE_LEVEL_SECONDS = 30.0
_FOLLOWED_SECONDS = 1.0
_FOLLOWED_BROKER_SECONDS = _FOLLOWED_SCHEMA_SECONDS = 1.5
"""What changes is shown within three seconds; exporters and registries are asked no oftener."""

_RECORD_SECONDS = 10.0
_END_SECONDS = 3.0
_LATE_ROUNDS = 3
"""A watch that has missed so many looks has nothing to say."""

_LATE_LOOKS = 2
"""Figures whose watch has missed so many looks, and the time of a request, are old."""

Changed = Literal["pipelines", "groups", "brokers", "topics", "schemas"]
"""What somebody can change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which cluster a console is for, and what of it is on this machine."""

    connection: Connection
    profile: str
    detached: Detached
    """The pipelines that keepers on this machine run."""

    folder: Path
    """Where the console keeps what it has seen."""

    registry: RegistryAddress | None = None
    """None: nobody has said where one is."""

    alerts: AlertSettings = field(default_factory=AlertSettings)

    masks: tuple[MaskSettings, ...] = ()
    """What of records is hidden, and from whom."""

    exporters: Callable[[], Mapping[BrokerId, str]] = dict
    """Says where brokers show their metrics, as far as somebody knows."""

    @classmethod
    def of(cls, settings: Settings, connection: Connection, *, folder: Path) -> Place:
        """Return the place that the settings describe."""
        try:
            registry = registry_address(settings)
        except PenstockError:  # there is none, or the platform that would have one does not run
            registry = None
        return cls(
            connection=connection,
            profile=settings.profile,
            detached=Detached(settings.platform.data_dir),
            folder=folder,
            registry=registry,
            alerts=settings.alerts,
            masks=settings.console.masks,
            exporters=partial(broker_metrics, settings),
        )


@dataclass(slots=True)
class Watch:
    """Something that is looked at every few seconds."""

    name: str
    look: Callable[[], Iterable[Sample]]
    every_seconds: float
    metrics: tuple[Metric, ...] = ()
    """What it measures."""

    followed_seconds: float | None = None
    """The same while somebody follows a page; None: no other."""

    hasten_look: Callable[[], None] | None = None
    """Lets the next look not be left out, where `look` leaves some out to save time."""

    at: datetime | None = None
    """When the last look succeeded."""

    fault: str | None = None
    """Why the last look failed; None: it did not."""

    samples: tuple[Sample, ...] = ()
    _is_over: bool = field(default=False, init=False)
    _awake: Event = field(default_factory=Event, init=False)

    def fresh(self, now: datetime) -> tuple[Sample, ...]:
        """Return what the last look has measured, unless it was too long ago."""
        return self.samples if self._is_fresh(now) else ()

    def is_blind(self, now: datetime) -> bool:
        """Whether what it does not measure may be there all the same."""
        return self.fault is not None or not self._is_fresh(now)

    def _is_fresh(self, now: datetime) -> bool:
        limit = _LATE_ROUNDS * self.every_seconds + _RECORD_SECONDS
        return self.at is not None and (now - self.at).total_seconds() <= limit

    def is_late(self, now: datetime) -> bool:
        """Return whether what was looked at last should have been looked at again by now."""
        if self.at is None:
            return False
        limit = _LATE_LOOKS * self.every_seconds + _REQUEST_SECONDS
        return self.fault is not None or (now - self.at).total_seconds() > limit

    def wake(self) -> None:
        """Look now instead of later; after a look that is under way there is another one."""
        self._awake.set()

    def hasten(self) -> None:
        """Look now, and leave nothing out: somebody has just changed something."""
        if self.hasten_look is not None:
            self.hasten_look()
        self.wake()

    def end(self) -> None:
        """Let the look that is under way be the last."""
        self._is_over = True
        self.wake()

    def run(
        self, on_look: Callable[[Watch], None], is_followed: Callable[[], bool] = lambda: False
    ) -> None:
        """Look until it is over; the first look is at once."""
        while True:
            # Before the look: what is changed while it is under way, it may have missed.
            self._awake.clear()
            if self._is_over:
                return
            begun = time.monotonic()
            try:
                self.samples = tuple(self.look())
                self.at, self.fault = datetime.now(UTC), None
            except PenstockError as error:
                self.fault = error.message
            except Exception as error:  # the top of a thread: the next look may succeed
                logger.exception("a look failed", extra={"watch": self.name})
                self.fault = f"{type(error).__name__}: {error}"
            on_look(self)
            taken = time.monotonic() - begun
            every = (self.followed_seconds if is_followed() else None) or self.every_seconds
            self._awake.wait(max(every - taken, taken))


class World:
    """Everything that pages show. Use it as a context manager; pages read it from any thread."""

    def __init__(self, place: Place) -> None:
        """Look at nothing yet.

        Raises:
            PenstockError: the history cannot be kept, or another console keeps it.
        """
        rules = rules_of(place.alerts.rules, READY_MADE)
        self.place = place
        self.history = History.open(place.folder / "history.sqlite")
        self.connection = place.connection.with_request_timeout(_REQUEST_SECONDS)
        self.trail = Trail(self.connection)
        self.alerts = AlertWatch(
            self.connection,
            rules,
            open_deliveries(place.alerts.delivery, self.connection),
            place.alerts,
        )
        self.pipelines: tuple[Overview, ...] = ()
        self._followers, self._following = 0, Lock()
        followed = self._is_followed
        self.brokers = BrokerSampler(self.connection, place.exporters, is_followed=followed)
        self.topics = TopicSampler(self.connection, is_followed=followed)
        self.service_levels: tuple[Compliance, ...] = ()
        """How the promises of pipelines are kept, by pipeline and name."""
        self.schemas: tuple[RegisteredSchema, ...] = ()
        """The newest version of each subject."""
        self.groups = GroupSampler(place.connection, is_followed=followed)
        self.version = 0
        """Grows with each look: what was drawn before may be out of date."""
        self.is_ending = False
        """Set when the process is asked to end: whoever follows a page is let go."""
        self._operator: Operator | None = None
        self._registry: RegistryClient | None = None
        self._operating = Lock()
        self._watches = [
            Watch(
                "pipelines",
                self._look_at_pipelines,
                _PIPELINE_SECONDS,
                FLOWS,
                followed_seconds=_FOLLOWED_SECONDS,
            ),
            Watch(
                "groups",
                self.groups.sample,
                _GROUP_SECONDS,
                GROUPS,
                followed_seconds=_FOLLOWED_SECONDS,
                hasten_look=self.groups.hasten,
            ),
            Watch(
                "brokers",
                self.brokers.sample,
                _BROKER_SECONDS,
                BROKERS,
                followed_seconds=_FOLLOWED_BROKER_SECONDS,
                hasten_look=self.brokers.hasten,
            ),
            Watch(
                "topics",
                self.topics.sample,
                _TOPIC_SECONDS,
                TOPICS,
                followed_seconds=_FOLLOWED_SECONDS,
                hasten_look=self.topics.hasten,
            ),
            Watch("host", HostSampler(place.folder).sample, _HOST_SECONDS, HOSTS),
            Watch("clients", client_samples, _CLIENT_SECONDS, CLIENTS),
            Watch(
                "service levels",
                self._look_at_service_levels,
                _SERVICE_LEVEL_SECONDS,
                SERVICE_LEVELS,
            ),
        ]
        if place.registry is not None:
            self._registry = RegistryClient(place.registry)
            pace = Pace(is_followed=followed)
            self._watches.append(
                Watch(
                    "schemas",
                    partial(self._look_at_schemas, self._registry, pace),
                    _SCHEMA_SECONDS,
                    followed_seconds=_FOLLOWED_SCHEMA_SECONDS,
                    hasten_look=pace.hasten,
                )
            )
            look = partial(self._look_at_registry, self._registry)
            self._watches.append(Watch("registry", look, _REGISTRY_SECONDS, REGISTRY))
        self._recording = Watch("history", self._record, _RECORD_SECONDS)
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        """Begin to look."""
        self.alerts.__enter__()
        for watch in (*self._watches, self._recording):
            name = f"penstock-watch-{watch.name}"
            looking = (self._looked, self._is_followed)
            thread = Thread(target=watch.run, args=looking, name=name, daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        """Look no more, and close what is open."""
        for watch in (*self._watches, self._recording):
            watch.end()
        deadline = time.monotonic() + _END_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self.groups.close()
        self.alerts.__exit__()
        with suppress(PenstockError):
            self.trail.close()
        if self._operator is not None:
            self._operator.__exit__()
        if self._registry is not None:
            self._registry.close()
        self.brokers.close()
        self.topics.close()
        self.history.close()

    @property
    def cluster(self) -> ClusterDescription | None:
        """The cluster as it was at the last look; None before the first one."""
        snapshot = self.brokers.snapshot()
        return snapshot.cluster if snapshot else None

    @property
    def watches(self) -> Sequence[Watch]:
        """What is looked at, with its age and fault."""
        return self._watches

    @property
    def faults(self) -> tuple[str, ...]:
        """Why something is not up to date, each reason once."""
        watches = (*self._watches, self._recording)
        return tuple(dict.fromkeys(watch.fault for watch in watches if watch.fault))

    def as_of(self, now: datetime) -> datetime:
        """Return of when the oldest figures are that should be newer; `now`: none are."""
        late = (watch.at for watch in self._watches if watch.at and watch.is_late(now))
        return min(late, default=now)

    def hasten(self, *changed: Changed) -> None:
        """Look at once at what somebody has just changed, however seldom that is done otherwise."""
        for watch in self._watches:
            if watch.name in changed:
                watch.hasten()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Look more often while somebody follows a page, beginning now."""
        with self._following:
            self._followers += 1
            is_first = self._followers == 1
        if is_first:
            for watch in self._watches:
                watch.wake()
        try:
            yield
        finally:
            with self._following:
                self._followers -= 1

    def _is_followed(self) -> bool:
        return self._followers > 0

    def samples(self) -> list[Sample]:
        """Return what was measured last: for `/metrics`, the history and alerts."""
        now = datetime.now(UTC)
        measured = (watch.fresh(now) for watch in self._watches)
        return [*self._answers(), *chain.from_iterable(measured)]

    def unmeasured(self) -> set[MetricName]:
        """Return the metrics that cannot be measured now: that they are missing means nothing."""
        now = datetime.now(UTC)
        blind = (watch.metrics for watch in self._watches if watch.is_blind(now))
        return {metric.name for metric in chain.from_iterable(blind)}

    def _answers(self) -> Iterable[Sample]:
        """Say whether the cluster answers: what is measured of it tells nothing when it is away."""
        if self.brokers.answers is not None:
            yield sample(CLUSTER_ANSWERS, float(self.brokers.answers))

    def overview(self, pipeline: PipelineName) -> Overview | None:
        """Return what is known of a pipeline; None when there is none of that name."""
        return next((item for item in self.pipelines if item.pipeline == pipeline), None)

    def operator(self) -> Operator:
        """Return who commands pipelines.

        Raises:
            PenstockError: Kafka cannot be used.
        """
        with self._operating:
            if self._operator is None:
                self._operator = Operator(self.connection, self.place.detached)
            return self._operator

    def _looked(self, _watch: Watch) -> None:
        self.version += 1

    def _look_at_pipelines(self) -> Iterable[Sample]:
        self.pipelines = self.operator().list()
        views = (item.view for item in self.pipelines if item.view)
        # A driver that fell silent said last that it runs.
        records = (replace(view.record, state=view.state) for view in views if view.record)
        return [sample for record in records for sample in samples_of(record)]

    def _record(self) -> Iterable[Sample]:
        samples, readings = self.samples(), HistoryReadings(self.history)
        try:
            self.history.add(datetime.now(UTC), samples)
        except HistoryWriteError:
            # A full disk is a thing to be told of, and no reason to tell of nothing else.
            readings = UnkeptReadings(self.history, samples)
            raise
        finally:
            self.alerts.look(readings, unmeasured=self.unmeasured())
        return ()

    def _look_at_service_levels(self) -> Iterable[Sample]:
        operator, now = self.operator(), datetime.now(UTC)
        # Not `self.pipelines`: those may be looked at only after this.
        known = ((item.pipeline, operator.about(item)) for item in operator.list())
        self.service_levels = tuple(
            compliance(self.history, pipeline, level, now=now)
            for pipeline, about in known
            if about is not None
            for level in about.service_levels
        )
        return samples_of_levels(self.service_levels)

    def _look_at_schemas(self, client: RegistryClient, pace: Pace) -> Iterable[Sample]:
        if pace.is_due:
            with pace.measured():
                self.schemas = tuple(client.latest_schemas())
        return ()

    def _look_at_registry(self, client: RegistryClient) -> Iterable[Sample]:
        return samples_in(client.figures() or "", REGISTRY)
