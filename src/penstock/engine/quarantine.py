"""When undecodable records become dead letters: after each batch that counted some, and no less.

A batch only counts them. This module has their range read again (`dead_letters.py` does that) by a
thread that all flows of a pipeline share, and keeps a mark beside the checkpoint: up to where a
flow's records are known to have been looked at. After a crash everything between the mark and the
last commit is looked at again. What of it had become dead letters by then is known to the ledger
(`exactly_once/letters.py`), unless the flow delivers at least once: then a record may become a
dead letter twice. Never not at all: a flow stops when its dead letters cannot be written.

The mark holds offsets and not only a batch, because Spark forgets old batches.
"""

from __future__ import annotations

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

from penstock.engine.checkpoints import format_offsets, parse_offsets
from penstock.engine.events import DataLost, DeadLettersWritten
from penstock.names import DatasetName, FlowName, Offset, TopicName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from penstock.engine.checkpoints import CheckpointFolder
    from penstock.engine.events import BatchFinished, Notify, Offsets, SourceProgress
    from penstock.engine.exactly_once.letters import LetterLanes, LetterShare, LettersWritten
    from penstock.engine.storage import Storage
    from penstock.kafka import TopicPartition

    Ranges = Mapping[TopicPartition, tuple[Offset, Offset]]

logger = logging.getLogger(__name__)

MARK_INTERVAL_SECONDS = 5.0
"""A mark costs a file write, and saves reading again after a crash what this many seconds read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Up to where the records of a flow were looked at."""

    query_id: str
    batch_id: int
    offsets: Mapping[DatasetName, Offsets]

    def to_json(self) -> str:
        """Return the content of the file."""
        content = {
            "query_id": self.query_id,
            "batch_id": self.batch_id,
            "offsets": {
                name: json.loads(format_offsets(offsets)) for name, offsets in self.offsets.items()
            },
        }
        return json.dumps(content, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Mark:
        """Return what `to_json` wrote; raise ValueError, KeyError or TypeError for another text."""
        content = json.loads(text)
        return cls(
            query_id=str(content["query_id"]),
            batch_id=int(content["batch_id"]),
            offsets={
                DatasetName(name): parse_offsets(json.dumps(offsets))
                for name, offsets in content["offsets"].items()
            },
        )

    def moved(self, batch_id: int, offsets: Mapping[DatasetName, Offsets]) -> Mark:
        """Return the mark after a batch that ended at these offsets."""
        return replace(self, batch_id=batch_id, offsets={**self.offsets, **offsets})


class MarkFile:
    """The file `<flow>.deadletters.json` beside a checkpoint."""

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage, self._name = storage, name

    def load(self, query_id: str) -> Mark | None:
        """Return the mark of that query; None when there is none, or one of another query.

        A mark that cannot be read counts as none: everything is then looked at again.
        """
        text = self._storage.read_text(self._name)
        if text is None:
            return None
        try:
            mark = Mark.from_json(text)
        except (ValueError, KeyError, TypeError, AttributeError):
            logger.warning("unreadable mark of dead letters", extra={"path": self._name})
            return None
        return mark if mark.query_id == query_id else None

    def move(
        self, query_id: str | None, name: DatasetName, moved: Callable[[Offsets], Offsets]
    ) -> None:
        """Change the offsets of one dataset, as those of the checkpoint were changed."""
        mark = None if query_id is None else self.load(query_id)
        if mark is not None:
            self.save(mark.moved(mark.batch_id, {name: moved(mark.offsets.get(name, {}))}))

    def save(self, mark: Mark) -> None:
        """Replace the mark."""
        self._storage.write_text(self._name, mark.to_json())


@dataclass(frozen=True, slots=True)
class _Written:
    dataset: DatasetName
    count: int


class QuarantineWorker:
    """The thread that fetches dead letters, one range after the other, for all flows."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="penstock-deadletters")

    def submit(self, job: Callable[[], None]) -> None:
        """Do `job` after those that were submitted before; it must not raise."""
        self._pool.submit(job)

    def drain(self, *, timeout_seconds: float | None) -> bool:
        """Wait until all that was submitted so far is done; return whether it is."""
        try:
            self._pool.submit(lambda: None).result(timeout_seconds)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Begin nothing more; what the marks do not cover is done at the next start."""
        self._pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineTask:
    """What the worker needs to know of one start of one flow."""

    flow: FlowName
    topics: tuple[DatasetName, ...]
    folders: tuple[DatasetName, ...]
    checkpoint: CheckpointFolder
    mark_file: MarkFile
    lanes: LetterLanes | None
    """Write dead letters once; None: they are written at least once."""

    write_records: Callable[[DatasetName, Ranges, LetterShare | None], int]
    """Writes the undecodable records of ranges of a topic; returns how many there were."""

    write_lines: Callable[[DatasetName, Sequence[str], LetterShare | None], int]
    """Writes the undecodable lines of files of a watched folder; returns how many there were."""

    dead_letters: TopicName
    notify: Notify
    fail: Callable[[Exception], None]
    """Stops the flow; called once, from the worker's thread."""


class Quarantine:
    """The dead letters of one start of one flow."""

    def __init__(self, task: QuarantineTask, worker: QuarantineWorker) -> None:
        self._task, self._worker = task, worker
        self._reached: Mark | None = None
        """What has been submitted to the worker."""
        self._settled: Mark | None = None
        """What the worker has done, of which the file may know less."""
        self._waiting: list[tuple[BatchFinished, Mark]] = []
        """Finished batches that the worker has not looked at, each with the mark behind it."""
        self._guard = Lock()
        self._saved_at = time.monotonic()
        self._unsaved = self._failed = False

    def catch_up(self, firsts: Offsets) -> None:
        """Look at what was committed after the mark; `firsts` are the first offsets there are.

        Call it before the query starts, while nothing changes in the checkpoint.
        """
        checkpoint = self._task.checkpoint
        committed, query_id = checkpoint.last_committed(), checkpoint.query_id()
        if committed is None or query_id is None:
            return
        mark, plan = self._task.mark_file.load(query_id), checkpoint.plan(committed)
        ends = {name: plan.offsets(name) for name in self._task.topics}
        self._reached = Mark(query_id=query_id, batch_id=committed, offsets=ends)
        if mark == self._reached:
            return
        ahead = dict(self._ahead_of(mark, query_id))
        starts = {
            name: ahead[name].offsets if name in ahead else self._start(mark, name) for name in ends
        }
        self._tell_gone(starts, ends, firsts)
        ranges = {name: ranges_between(starts[name], ends[name], firsts) for name in ends}
        files = {
            name: self._files(name, checkpoint.committed_after(_batch_of(ahead.get(name) or mark)))
            for name in self._task.folders
        }
        untold = [_Written(name, found.count) for name, found in ahead.items()]
        reached = self._reached
        self._submit(
            lambda: self._work(reached, chain(untold, self._missed(reached, ranges, files)))
        )

    def look_at(self, batch: BatchFinished) -> None:
        """Note a finished batch; if it counted undecodable records, have them fetched."""
        ends = {source.dataset: source.end for source in batch.sources}
        before = self._reached or Mark(query_id=batch.query_id, batch_id=-1, offsets={})
        self._reached = before.moved(batch.batch_id, ends)
        with self._guard:
            self._waiting.append((batch, self._reached))
        self._submit(self._catch_up_with_batches)

    def drain(self, *, timeout_seconds: float | None) -> bool:
        """Wait until all is written and the mark is moved; return whether that is done.

        Without a time it waits as long as that takes. What is not done in time is done at the next
        start, because the mark stays behind.
        """
        self._worker.submit(lambda: self._guarded(self._save))
        return self._worker.drain(timeout_seconds=timeout_seconds)

    def _ahead_of(
        self, mark: Mark | None, query_id: str
    ) -> Iterator[tuple[DatasetName, LettersWritten]]:
        """Yield what was written before the mark was moved behind it, and so was told nobody."""
        lanes = self._task.lanes
        if lanes is None:
            return
        for name in (*self._task.topics, *self._task.folders):
            found = lanes.written(name, query_id)
            if found is not None and (mark is None or found.batch_id > mark.batch_id):
                yield name, found

    def _start(self, mark: Mark | None, name: DatasetName) -> Offsets:
        known = mark.offsets.get(name) if mark else None
        return known or self._task.checkpoint.initial_offsets(name)

    def _files(self, name: DatasetName, batches: Sequence[int]) -> list[str]:
        seen = (self._task.checkpoint.files_seen(name, batch_id) for batch_id in batches)
        return [path for paths in seen for path in paths]

    def _missed(
        self,
        mark: Mark,
        ranges: Mapping[DatasetName, Ranges],
        files: Mapping[DatasetName, Sequence[str]],
    ) -> Iterator[_Written]:
        for name, some in ranges.items():
            if some:
                yield _Written(name, self._task.write_records(name, some, self._share(name, mark)))
        for name, paths in files.items():
            if paths:
                yield _Written(name, self._task.write_lines(name, paths, self._share(name, mark)))

    def _catch_up_with_batches(self) -> None:
        """Look at all batches that have finished meanwhile, in one go, as each go is a job."""
        with self._guard:
            waiting, self._waiting = self._waiting, []
        if waiting:
            _, mark = waiting[-1]
            self._work(mark, self._counted(mark, [batch for batch, _ in waiting]))

    def _counted(self, mark: Mark, batches: Sequence[BatchFinished]) -> Iterator[_Written]:
        names = {name for batch in batches for name, count in batch.undecodable.items() if count}
        for name in sorted(names):
            share = self._share(name, mark)
            some = [batch for batch in batches if batch.undecodable.get(name)]
            if name in self._task.folders:
                paths = self._files(name, [batch.batch_id for batch in some])
                yield _Written(name, self._task.write_lines(name, paths, share))
            else:
                # What lies between two of the batches has no undecodable records.
                start, end = self._start_of(some[0], name), _source(some[-1], name).end
                ranges = ranges_between(start, end, {})
                yield _Written(name, self._task.write_records(name, ranges, share))

    def _share(self, name: DatasetName, mark: Mark) -> LetterShare | None:
        lanes = self._task.lanes
        return None if lanes is None else lanes.share(name, mark)

    def _start_of(self, batch: BatchFinished, name: DatasetName) -> Offsets:
        # Spark names no start for the first batch of a source; the checkpoint knows it.
        known = _source(batch, name).start
        return known or self._task.checkpoint.start_offsets(batch.batch_id, name)

    def _submit(self, work: Callable[[], None]) -> None:
        self._worker.submit(lambda: self._guarded(work))

    def _guarded(self, work: Callable[[], None]) -> None:
        if self._failed:
            return  # the mark must not move past what could not be written
        try:
            work()
        except Exception as err:  # noqa: BLE001 - the top of a thread; the flow fails with it
            self._failed = True
            self._task.fail(err)

    def _work(self, mark: Mark, writing: Iterable[_Written]) -> None:
        written = list(writing)
        self._settled, self._unsaved = mark, True
        if written or time.monotonic() - self._saved_at > MARK_INTERVAL_SECONDS:
            self._save()
        for item in written:
            self._tell_written(item, mark.batch_id)

    def _tell_written(self, written: _Written, batch_id: int) -> None:
        if written.count:
            self._task.notify(
                DeadLettersWritten(
                    flow=self._task.flow,
                    at=datetime.now(UTC),
                    dataset=written.dataset,
                    topic=self._task.dead_letters,
                    batch_id=batch_id,
                    count=written.count,
                )
            )

    def _save(self) -> None:
        if self._unsaved and self._settled is not None:
            self._task.mark_file.save(self._settled)
            self._saved_at, self._unsaved = time.monotonic(), False

    def _tell_gone(
        self,
        starts: Mapping[DatasetName, Offsets],
        ends: Mapping[DatasetName, Offsets],
        firsts: Offsets,
    ) -> None:
        gone = {
            partition: firsts[partition] - starts[name].get(partition, 0)
            for name in ends
            for partition, end in ends[name].items()
            if firsts.get(partition, 0) > starts[name].get(partition, 0) < end
        }
        for topic in sorted({partition.topic for partition in gone}):
            self._task.notify(
                DataLost(
                    flow=self._task.flow,
                    at=datetime.now(UTC),
                    topic=topic,
                    reason="removed before the undecodable ones among them became dead letters",
                    lost={item: count for item, count in gone.items() if item.topic == topic},
                )
            )


def _batch_of(done: Mark | LettersWritten | None) -> int | None:
    return None if done is None else done.batch_id


def _source(batch: BatchFinished, name: DatasetName) -> SourceProgress:
    return next(source for source in batch.sources if source.dataset == name)


def ranges_between(starts: Offsets, ends: Offsets, firsts: Offsets) -> Ranges:
    """Return what lies between two states of reading and still exists; only what is not empty.

    Partitions without a start were added since and are read from 0.
    """
    ranges = {
        partition: (max(starts.get(partition, Offset(0)), firsts.get(partition, Offset(0))), end)
        for partition, end in ends.items()
    }
    return {partition: (start, end) for partition, (start, end) in ranges.items() if start < end}
