"""Follows all groups of a cluster, and tells how far each is behind and what it will lose.

Nothing here costs a request per group: positions come from the groups' log, ends from one request
per broker for all partitions in which a group has a position. A record is read only for its
timestamp, where the ends that were seen do not tell when it came, a bounded number per look.
"""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING

from penstock.kafka import (
    Admin,
    ClusterError,
    GroupsLog,
    LoggedGroup,
    TimestampReader,
    bounds_of_present,
    group_states,
)
from penstock.monitoring.groups.ends import EndHistory
from penstock.monitoring.groups.figures import (
    GroupsSnapshot,
    PartitionFigures,
    moment,
)
from penstock.monitoring.groups.samples import samples_of
from penstock.monitoring.groups.standing import NOTHING_FOLLOWS, Standing
from penstock.monitoring.groups.storage import TopicStorage
from penstock.monitoring.groups.summing import group_figures
from penstock.monitoring.groups.trend import TREND_SECONDS, LagHistory
from penstock.monitoring.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.kafka import Connection, GroupState, TopicPartition
    from penstock.monitoring.catalog import Sample
    from penstock.monitoring.groups.figures import GroupFigures
    from penstock.names import GroupId, Offset

# A look that took a second of processor time is followed by none for fifty: 2 % of a core at most,
# however many groups and partitions there are.
_PAUSE_PER_SECOND = 50.0
_FIRSTS_SECONDS = 30.0
_CATCH_UP_SECONDS = 5.0
_READS_PER_LOOK = 2_000
_READ_SECONDS = 2.0
_REQUEST_SECONDS = 10.0


# Verdicts and trends look back ten minutes: after that, what stands still has the same figures.
_SETTLED_SECONDS = TREND_SECONDS + 60.0


class _Tracked:
    __slots__ = ("changed_at", "figures", "lags", "standings")

    def __init__(self) -> None:
        self.standings: dict[TopicPartition, Standing] = {}
        self.lags = LagHistory()
        self.changed_at = 0.0
        self.figures: GroupFigures | None = None


class GroupSampler:
    """Looks at all groups; `sample` belongs to one thread, the rest to any."""

    def __init__(
        self,
        connection: Connection,
        *,
        is_followed: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Look at nothing yet; `is_followed` says whether somebody waits for the next look."""
        connection = connection.with_request_timeout(_REQUEST_SECONDS)
        self._admin, self._reader = Admin(connection), TimestampReader(connection)
        self._log = GroupsLog(self._admin)
        self._storage = TopicStorage(self._admin)
        self._clock = clock
        self._pace = Pace(is_followed=is_followed, pause_per_second=_PAUSE_PER_SECOND, clock=clock)
        self._lock = Lock()
        self._tracked: dict[GroupId, _Tracked] = {}
        self._ends: dict[TopicPartition, EndHistory] = {}
        self._firsts_at = 0.0
        self._complete = False
        self._snapshot = GroupsSnapshot(at=moment(0), complete=False)
        self._samples: tuple[Sample, ...] = ()

    def snapshot(self) -> GroupsSnapshot:
        """Return all groups as of the last look."""
        return self._snapshot

    def partitions(self, group: GroupId) -> tuple[PartitionFigures, ...]:
        """Return where `group` stood in each of its partitions at the last look."""
        with self._lock:
            tracked = self._tracked.get(group)
            if tracked is None:
                return ()
            return tuple(
                standing.figures(partition, self._ends.get(partition))
                for partition, standing in sorted(tracked.standings.items())
            )

    def sample(self) -> Iterable[Sample]:
        """Look when it is time to, and return the series of the last look.

        Raises:
            GroupsLogHiddenError: this user may not follow groups.
            ClusterError: the cluster does not answer; the snapshot stays as it was.
        """
        if self._pace.is_due:
            try:
                with self._pace.measured():
                    self._look(self._clock())
            except ClusterError:
                self._admin.forget()  # a client that met an outage would wait longer and longer
                raise
            if not self._complete:
                self._pace.hasten()
        return self._samples

    def hasten(self) -> None:
        """Let the next `sample` look whenever it comes: somebody has just changed a group."""
        self._pace.hasten()

    def close(self) -> None:
        """Let the clients go."""
        self._log.close()
        self._reader.close()
        self._admin.forget()

    def _look(self, at: float) -> None:
        changed = self._log.catch_up(timeout_seconds=_CATCH_UP_SECONDS)
        with self._lock:
            self._follow(changed, at)
        states = group_states(self._admin)
        self._measure(at)
        topics = {item.topic for item, ends in self._ends.items() if ends.end is not None}
        stored = self._storage.refresh(topics, at=at)
        with self._lock:
            wanted = self._compare(at)
        left = self._read(wanted, at)
        self._complete = self._complete or (self._log.complete and stored and not left)
        with self._lock:
            figures = self._figures(states, at)
        self._snapshot = GroupsSnapshot(at=moment(at), complete=self._complete, by_group=figures)
        self._samples = tuple(samples_of(self._snapshot, self.partitions))

    def _follow(self, changed: Iterable[GroupId], at: float) -> None:
        """Take over what the log says of `changed` groups."""
        gone = False
        for group in changed:
            logged = self._log.groups.get(group)
            if logged is None:
                gone = self._tracked.pop(group, None) is not None or gone
                continue
            tracked = self._tracked.setdefault(group, _Tracked())
            tracked.changed_at, standings = at, tracked.standings
            for partition in standings.keys() - logged.commits.keys():
                del standings[partition]
                gone = True
            for partition, commit in logged.commits.items():
                if partition in standings:
                    standings[partition].move(commit)
                else:
                    standings[partition] = Standing(commit)
                    self._ends.setdefault(partition, EndHistory())
        if gone:
            kept = {item for tracked in self._tracked.values() for item in tracked.standings}
            self._ends = {item: ends for item, ends in self._ends.items() if item in kept}

    def _measure(self, at: float) -> None:
        """Ask for the ends of all partitions, and now and then for where they begin."""
        partitions = list(self._ends)
        for partition, end in bounds_of_present(self._admin, partitions, firsts=False).items():
            self._ends[partition].note(end, at=at)
        new = [item for item in partitions if self._ends[item].first is None]
        if at - self._firsts_at >= _FIRSTS_SECONDS:
            new, self._firsts_at = partitions, at
        for partition, first in bounds_of_present(self._admin, new, firsts=True).items():
            self._ends[partition].note_first(first, at=at)

    def _compare(self, at: float) -> list[tuple[Standing, TopicPartition, Offset]]:
        """Compare positions with ends; return whose first unread record should be read."""
        wanted = []
        for tracked in self._tracked.values():
            if self._is_settled(tracked, at):
                continue
            tracked.figures = None
            for partition, standing in tracked.standings.items():
                ends = self._ends[partition]
                if standing.look(ends, self._storage.of(partition, ends), at=at):
                    wanted.append((standing, partition, standing.unread_offset()))
        return wanted

    def _is_settled(self, tracked: _Tracked, at: float) -> bool:
        """Return whether nothing has happened for so long that the figures stay as they are."""
        if tracked.figures is None or not tracked.figures.age_known:
            return False
        changes = (self._ends[item].changed_at for item in tracked.standings)
        newest = max(tracked.changed_at, self._storage.changed_at, *changes)
        return at - newest > _SETTLED_SECONDS

    def _read(self, wanted: list[tuple[Standing, TopicPartition, Offset]], at: float) -> int:
        """Read timestamps, within bounds, and return how many are left for the next look."""
        waiting: dict[tuple[TopicPartition, Offset], list[Standing]] = {}
        for standing, partition, offset in wanted:
            waiting.setdefault((partition, offset), []).append(standing)
        deadline = time.monotonic() + _READ_SECONDS
        budget = _READS_PER_LOOK
        while waiting and budget > 0 and (left := deadline - time.monotonic()) > 0:
            asked: dict[TopicPartition, Offset] = {}
            for partition, offset in waiting:
                if len(asked) < budget:
                    asked.setdefault(partition, offset)
            budget -= len(asked)
            found = self._reader.read(asked, timeout_seconds=left)
            with self._lock:
                for partition, written in found.items():
                    since = NOTHING_FOLLOWS if written is None else written.timestamp()
                    ends, offset = self._ends[partition], asked[partition]
                    for standing in waiting.pop((partition, offset)):
                        standing.note_timestamp(offset, since)
                        standing.look(ends, self._storage.of(partition, ends), at=at)
        return len(waiting)

    def _figures(
        self, states: Mapping[GroupId, GroupState], at: float
    ) -> dict[GroupId, GroupFigures]:
        known = {}
        for group, tracked in self._tracked.items():
            state = states.get(group)
            if tracked.figures is None or tracked.figures.state is not state:
                tracked.figures = group_figures(
                    group,
                    self._log.groups[group],
                    tracked.standings,
                    state=state,
                    lags=tracked.lags,
                    at=at,
                )
            known[group] = tracked.figures
        # Members that have never finished their first rebalance are in no log yet.
        for group in states.keys() - known.keys():
            known[group] = group_figures(
                group, LoggedGroup(), {}, state=states[group], lags=LagHistory(), at=at
            )
        return known
