"""All brokers of a cluster: who is there, what each holds, and what it measures of itself.

The first two are asked of Kafka, the last is read from the exporters of brokers, where there are
some (`exporters.py`). Without them the rest is told all the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.kafka import Admin, ClusterError, describe_cluster
from penstock.monitoring.broker_measures import BrokerMeasures, measures
from penstock.monitoring.broker_samples import samples_of
from penstock.monitoring.exporters import ExporterSilentError, look
from penstock.monitoring.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from penstock.kafka import BrokerDescription, ClusterDescription, Connection, LogDirectory
    from penstock.monitoring.catalog import Sample
    from penstock.names import BrokerId

_REQUEST_SECONDS = 5.0
_EXPORTER_SECONDS = 14.0
"""How seldom exporters are asked while nobody waits: what they show costs an idle broker more than
all else that it is asked. A little less than three looks, so that it is every third."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFigures:
    """One broker at one moment."""

    broker_id: BrokerId
    host: str | None
    """None: it holds replicas, but is no member of the cluster now."""

    port: int | None
    rack: str | None
    is_reachable: bool
    is_controller: bool | None
    """None: nobody could say who is."""

    leader_count: int
    replica_count: int
    directories: tuple[LogDirectory, ...] | None
    """None: it could not be asked."""

    measured: BrokerMeasures | None = None
    """None: nobody has said where its exporter is, or it does not answer."""

    fault: str | None = None
    """Why its exporter does not answer."""

    @property
    def disk_bytes(self) -> int | None:
        """Bytes of all replicas on it."""
        if self.directories is None:
            return None
        return sum(directory.used_bytes for directory in self.directories)

    @property
    def disk_used(self) -> float | None:
        """The share in use of its fullest volume."""
        return max((used for item in self.directories or () if (used := _used(item))), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFigures:
    """A node that has an exporter and is no broker: a controller and nothing else."""

    node_id: BrokerId
    measured: BrokerMeasures | None = None
    fault: str | None = None
    """Why its exporter does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersSnapshot:
    """All brokers as of one look."""

    at: datetime
    cluster: ClusterDescription
    brokers: tuple[BrokerFigures, ...]
    controllers_apart: tuple[ControllerFigures, ...] = ()

    @property
    def controllers(self) -> int | None:
        """How many nodes say that they are the active controller; None when that is not known.

        While one of them cannot be asked, it may be the one: the others rightly say they are not.
        """
        told = {
            node: measured.active_controller
            for node, measured in self._measured.items()
            if measured is not None and measured.active_controller is not None
        }
        count = sum(told.values())
        if count == 0 and (not told or not self._all_tell(told)):
            return None
        return count

    @property
    def _measured(self) -> dict[BrokerId, BrokerMeasures | None]:
        """What every node measures that could be asked."""
        there = {item.broker_id: item.measured for item in self.brokers if item.is_reachable}
        return there | {item.node_id: item.measured for item in self.controllers_apart}

    def _all_tell(self, told: Collection[BrokerId]) -> bool:
        quorum = self.cluster.quorum
        voters = {member.node_id for member in quorum.voters} if quorum else set()
        away = {item.broker_id for item in self.brokers if not item.is_reachable}
        return None not in self._measured.values() and voters - set(told) <= away


class BrokerSampler:
    """Looks at all brokers; `sample` belongs to one thread, the snapshot to any."""

    def __init__(
        self,
        connection: Connection,
        addresses: Callable[[], Mapping[BrokerId, str]],
        *,
        is_followed: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look at nothing yet.

        Args:
            connection: how to reach the cluster.
            addresses: says where exporters are whenever it is called.
            is_followed: says whether somebody waits for the next look.
            clock: the time that passes between looks.
        """
        self._admin = Admin(connection.with_request_timeout(_REQUEST_SECONDS))
        self._addresses, self._clock, self._is_followed = addresses, clock, is_followed
        self._pace = Pace(is_followed=is_followed, clock=clock)
        self._asked_at = float("-inf")
        self._before: dict[BrokerId, tuple[float, BrokerMeasures]] = {}
        """What exporters showed last, and when."""

        self._faults: dict[BrokerId, str] = {}
        self._snapshot: BrokersSnapshot | None = None
        self._samples: tuple[Sample, ...] = ()
        self.answers: bool | None = None
        """Whether the cluster did at the last look; None before the first one."""

    def snapshot(self) -> BrokersSnapshot | None:
        """Return all brokers as of the last look; None before the first one."""
        return self._snapshot

    def sample(self) -> Iterable[Sample]:
        """Look when it is time to, and return the series of the last look.

        Raises:
            ClusterError: the cluster does not answer; the snapshot stays as it was.
        """
        if self._pace.is_due:
            try:
                with self._pace.measured():
                    self._look()
            except ClusterError:
                self.answers = False
                self._admin.forget()  # a client that met an outage would wait longer and longer
                raise
        return self._samples

    def hasten(self) -> None:
        """Let the next `sample` look whenever it comes: somebody has just changed the cluster."""
        self._pace.hasten()
        self._asked_at = float("-inf")

    def close(self) -> None:
        """Let the client go."""
        self._admin.forget()

    def _look(self) -> None:
        cluster = describe_cluster(self._admin)
        if self._is_followed() or self._clock() >= self._asked_at + _EXPORTER_SECONDS:
            self._ask_exporters()
        measured = {broker: found for broker, (_, found) in self._before.items()}
        self._snapshot = snapshot_of(cluster, measured, self._faults, at=datetime.now(UTC))
        self._samples = tuple(samples_of(self._snapshot))
        self.answers = True

    def _ask_exporters(self) -> None:
        self._asked_at = now = self._clock()  # first: what is changed meanwhile it may miss
        shown = look(self._addresses())
        self._faults = {
            broker: found.message
            for broker, found in shown.items()
            if isinstance(found, ExporterSilentError)
        }
        self._before = {
            broker: (now, self._with_rates(broker, measures(found), now))
            for broker, found in shown.items()
            if not isinstance(found, ExporterSilentError)
        }

    def _with_rates(self, broker: BrokerId, found: BrokerMeasures, now: float) -> BrokerMeasures:
        if broker not in self._before:
            return found
        then, before = self._before[broker]
        return found.since(before, seconds=now - then)


def snapshot_of(
    cluster: ClusterDescription,
    measured: Mapping[BrokerId, BrokerMeasures],
    faults: Mapping[BrokerId, str],
    *,
    at: datetime,
) -> BrokersSnapshot:
    """Return all nodes with what their exporters show, or why they show nothing."""
    known = [
        _figures(item, cluster, measured.get(item.broker_id), faults.get(item.broker_id))
        for item in cluster.brokers
    ]
    known += [_missing(broker, cluster) for broker in cluster.missing]
    known.sort(key=lambda broker: broker.broker_id)
    apart = {*measured, *faults} - {broker.broker_id for broker in known}
    return BrokersSnapshot(
        at=at,
        cluster=cluster,
        brokers=tuple(known),
        controllers_apart=tuple(
            ControllerFigures(node_id=node, measured=measured.get(node), fault=faults.get(node))
            for node in sorted(apart)
        ),
    )


def _figures(
    item: BrokerDescription,
    cluster: ClusterDescription,
    measured: BrokerMeasures | None,
    fault: str | None,
) -> BrokerFigures:
    return BrokerFigures(
        broker_id=item.broker_id,
        host=item.host,
        port=item.port,
        rack=item.rack,
        is_reachable=item.reachable,
        is_controller=_is_controller(item.broker_id, cluster),
        leader_count=item.leader_count,
        replica_count=item.replica_count,
        directories=item.directories,
        measured=measured,
        fault=fault,
    )


def _missing(broker: BrokerId, cluster: ClusterDescription) -> BrokerFigures:
    return BrokerFigures(
        broker_id=broker,
        host=None,
        port=None,
        rack=None,
        is_reachable=False,
        is_controller=_is_controller(broker, cluster),
        leader_count=0,
        replica_count=cluster.missing[broker],
        directories=None,
    )


def _is_controller(broker: BrokerId, cluster: ClusterDescription) -> bool | None:
    return None if cluster.controller is None else broker == cluster.controller


def _used(directory: LogDirectory) -> float | None:
    if not directory.total_bytes or directory.usable_bytes is None:
        return None
    return 1 - directory.usable_bytes / directory.total_bytes
