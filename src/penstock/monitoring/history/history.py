"""The history as the console keeps it: rounds of samples go in, graphs come out."""

import logging
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Self

from penstock.monitoring.catalog import SERIES, Labels, MetricName, Sample
from penstock.monitoring.history.errors import HistoryReadError, HistoryWriteError
from penstock.monitoring.history.reading import segments, tier_for
from penstock.monitoring.history.recording import GONE_SECONDS, Recording, SeriesNumbers
from penstock.monitoring.history.series import Point, Series, Totals, Where, stepped
from penstock.monitoring.history.storage import MINUTES, RAW, TENS, HistoryFile, is_damage

logger = logging.getLogger(__name__)

MAX_BYTES = 512 << 20
"""Of the file. A platform of 30,000 series of which few change takes a tenth of it."""

MAX_SERIES = 50_000
"""Each takes about a kilobyte of memory, and the console is to live in 400 MB."""


class History:
    """A week of every series that `add` is given.

    Values are kept as they came, about every ten seconds, for three hours, as sums of minutes for
    a day and of ten minutes for a week. One thread adds at a time; any number of others may read
    meanwhile. What was not added for a minute has ended, and over a time in which nobody added
    anything, such as a restart, the history knows nothing.
    """

    def __init__(self, file: HistoryFile, *, max_series: int) -> None:
        self._file, self._max_series = file, max_series
        self._writing = Lock()
        self._damage: str | None = None
        self._tidied_chunk: int | None = None
        self._recording: Recording | None = None
        self._numbers = self._known_numbers()

    @classmethod
    def open(cls, path: Path, *, max_bytes: int = MAX_BYTES, max_series: int = MAX_SERIES) -> Self:
        """Open the file, or begin one; a damaged or newer one is set aside with a warning.

        Raises:
            HistoryInUseError: another process writes it.
            HistoryWriteError: it cannot be written.
        """
        return cls(HistoryFile(path, max_bytes=max_bytes), max_series=max_series)

    def __enter__(self) -> Self:
        """Return itself: `with` closes it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let go of the file. What was added is in it."""
        with self._writing:
            self._file.close()

    def add(self, at: datetime, samples: Iterable[Sample]) -> None:
        """Keep the values of a round; several calls may share the series out among them.

        A call is one transaction. Values that are not finite are no values. A round that is
        earlier than the one before is dropped, unless the clock was set back by over a minute.

        Raises:
            HistoryWriteError: nothing of the round was kept; the next one begins a new session.
        """
        seconds, round_ = int(at.timestamp()), list(samples)
        with self._writing:
            if self._damage is not None:
                self._begin_anew(self._damage)
            if self._recording is None or abs(seconds - self._recording.until) > GONE_SECONDS:
                self._recording = Recording(seconds)
            if seconds < self._recording.until:
                return
            try:
                self._write(self._recording, seconds, round_)
            except sqlite3.Error as err:
                self._recover(err)
                raise HistoryWriteError(self._file.path, reason=str(err)) from err

    def series(
        self,
        metric: MetricName,
        where: Where | None = None,
        *,
        since: datetime,
        until: datetime,
        step: timedelta | None,
    ) -> list[Series]:
        """Return the series of `metric`, sorted by labels, with a point for each step.

        Args:
            metric: the name of samples; of a histogram one of its three.
            where: labels that the series must have, or a function that accepts labels.
            since: the beginning, included.
            until: the end, excluded.
            step: how far points are apart. They begin at its multiples since 1970, which is also
                midnight in UTC. None: one point for the whole time.

        Raises:
            HistoryReadError: the file is damaged.
        """
        begin, end = since.timestamp(), until.timestamp()
        seconds = end - begin if step is None else step.total_seconds()
        wanted = self._wanted(metric, where)
        # A tenth of the whole time is fine enough for one point of it.
        tier = tier_for(seconds / 10 if step is None else seconds)
        try:
            with self._file.reading() as connection:
                numbers = [number for _, number in wanted]
                found = segments(connection, numbers, since=begin, until=end, tier=tier)
        except sqlite3.Error as err:
            if is_damage(err):
                self._damage = str(err)
            raise HistoryReadError(self._file.path, reason=str(err)) from err
        origin = begin if step is None else 0.0
        counts = SERIES[metric].grows
        result = []
        for labels, number in wanted:
            totals = stepped(found[number], since=begin, until=end, step=seconds, origin=origin)
            if totals:
                points = (
                    _point(origin + index * seconds, totals[index], counts=counts)
                    for index in sorted(totals)
                )
                result.append(Series(metric=metric, labels=labels, points=tuple(points)))
        return result

    def latest(self, metric: MetricName, where: Where | None = None) -> list[Sample]:
        """Return the values of the last rounds, sorted by labels."""
        recording = self._recording
        found = recording.latest(metric) if recording else ()
        return sorted(
            (sample for sample in found if _is_meant(sample.labels, where)),
            key=lambda sample: sample.labels,
        )

    def labels(self, metric: MetricName, where: Where | None = None) -> list[Labels]:
        """Return which series of `metric` the history knows, sorted, past ones included."""
        return [labels for labels, _ in self._wanted(metric, where)]

    def _wanted(self, metric: MetricName, where: Where | None) -> list[tuple[Labels, int]]:
        return sorted(each for each in self._numbers.of(metric) if _is_meant(each[0], where))

    def _write(self, recording: Recording, seconds: int, round_: list[Sample]) -> None:
        file, refused = self._file, self._numbers.refused
        file.connection.execute("BEGIN IMMEDIATE")
        file.add_rows(RAW, recording.add(seconds, round_, self._numbers))
        if recording.is_due(MINUTES):
            file.add_rows(RAW, recording.ended())
            file.add_rows(MINUTES, recording.minutes())
        if recording.is_due(TENS):
            file.add_rows(TENS, recording.tens())
            file.prune(seconds)
            if self._tidied_chunk != TENS.chunk_of(seconds):
                self._tidied_chunk = TENS.chunk_of(seconds)
                self._numbers.forget(file.forget_series(recording.numbers()))
        for new in self._numbers.new:
            file.add_series(*new)
        file.add_session(recording.began, recording.until)
        file.connection.execute("COMMIT")
        self._numbers.new.clear()
        if self._numbers.refused and not refused:
            logger.warning(
                "the history keeps no further series of metrics", extra={"count": self._max_series}
            )

    def _recover(self, error: sqlite3.Error) -> None:
        if is_damage(error):
            self._begin_anew(str(error))
            return
        if self._file.connection.in_transaction:
            self._file.connection.execute("ROLLBACK")
        self._start_over()

    def _begin_anew(self, reason: str) -> None:
        self._file.begin_anew(reason)
        self._damage = None
        self._start_over()

    def _start_over(self) -> None:
        """Believe the file alone: what is in memory may not have been written."""
        self._recording = None
        self._numbers = self._known_numbers()

    def _known_numbers(self) -> SeriesNumbers:
        return SeriesNumbers(self._file.known_series(), limit=self._max_series)


def _point(at: float, totals: Totals, *, counts: bool) -> Point:
    return Point(
        at=datetime.fromtimestamp(at, UTC),
        value=totals.growth / totals.seconds if counts else totals.mean,
        low=totals.low,
        high=totals.high,
        last=totals.last,
        growth=totals.growth if counts else None,
        seconds=totals.seconds,
    )


def _is_meant(labels: Labels, where: Where | None) -> bool:
    if where is None:
        return True
    if callable(where):
        return where(dict(labels))
    return all(item in labels for item in where.items())
