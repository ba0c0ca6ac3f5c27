"""A checkpoint as Spark keeps it: which batches were planned and committed, and how far they read.

The layout is that of offset log version 2, in which every source has a name:

    metadata                 the query's id
    offsets/N                the plan of batch N: version, metadata, one line per source
    commits/N                written when batch N is done
    sources/NAME/0           Kafka: where the first batch begins; files: what batch 0 read

Spark writes it; we read it, and change it only where records are gone and the user allows going
on without them (`data_loss.py`). Nothing here may be called for writing while the query runs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.kafka import TopicPartition
from penstock.names import DatasetName, Offset, Partition, TopicName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.engine.events import Offsets
    from penstock.engine.storage import Storage

_VERSION = "v2"
# Spark marks initial offsets of Kafka with a byte that versions before 2.1 needed.
_INITIAL_PREFIX = "\0v1\n"
_METADATA = "metadata"
_COMPACT = ".compact"
_NOTHING = "-"


class DamagedCheckpointError(PenstockError):
    """A file of a checkpoint does not hold what Spark writes there."""

    code = "PEN-342"

    def __init__(self, path: str, *, found: str, expected: str, remedy: str) -> None:
        super().__init__(f"`{path}` is damaged: {found}, expected {expected}", hint=remedy)
        self.path, self._found, self._expected = path, found, expected

    def with_remedy(self, remedy: str) -> DamagedCheckpointError:
        """Return the same error with another hint."""
        return DamagedCheckpointError(
            self.path, found=self._found, expected=self._expected, remedy=remedy
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What Spark wrote down before it ran a batch."""

    batch_id: int
    metadata: str
    """Watermark, time and frozen settings, as JSON in Spark's form."""

    sources: Mapping[DatasetName, str]
    """Up to where each source is read, as JSON in the form of the source."""

    @property
    def conf(self) -> Mapping[str, str]:
        """The settings that the checkpoint has frozen."""
        return {str(key): str(value) for key, value in json.loads(self.metadata)["conf"].items()}

    @property
    def began(self) -> datetime:
        """When the batch was planned, by the clock of its driver."""
        return datetime.fromtimestamp(json.loads(self.metadata)["batchTimestampMs"] / 1000, UTC)

    def offsets(self, source: DatasetName) -> Offsets:
        """Return where the batch ends in a topic; empty when the source is not in the plan."""
        return parse_offsets(self.sources.get(source))


class CheckpointFolder:
    """The checkpoint of one flow, `path` below the root of `storage`."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage, self._path = storage, path

    @property
    def location(self) -> str:
        """The folder's full name, as Spark wants it."""
        return self._storage.path(self._path)

    def exists(self) -> bool:
        """Whether a query has ever planned a batch here; an id alone is not a beginning."""
        return self.last_planned() is not None

    def has_state(self) -> bool:
        """Whether the query keeps state, which is divided by shuffle partitions."""
        return self._storage.exists(self._file("state"))

    def check(self) -> None:
        """Read what Spark will read at the start, so that damage is named with its file.

        Raises:
            DamagedCheckpointError: a file is missing or does not hold what belongs there.
        """
        planned, committed = self.newest_batches()
        if planned is None and committed is None:
            return
        if self.query_id() is None:
            raise self._damaged(_METADATA, None, "the query's id as JSON")
        if planned is None or (committed is not None and planned < committed):
            file = f"offsets/{committed}"
            raise self._damaged(file, None, "the plan of a committed batch")
        if planned != committed:
            self._check_plan(planned)
        if committed is not None:
            self.plan(committed)
            self._check_commit(committed)

    def query_id(self) -> str | None:
        """Return the id that Spark gave to the query at its first start.

        Raises:
            DamagedCheckpointError: it cannot be read.
        """
        text = self._storage.read_text(self._file(_METADATA))
        if text is None:
            return None
        try:
            return str(json.loads(text)["id"])
        except (ValueError, KeyError, TypeError) as err:
            raise self._damaged(_METADATA, text, "the query's id as JSON") from err

    def last_planned(self) -> int | None:
        """Return the newest batch that was planned, None before the first."""
        return max(self._batches("offsets"), default=None)

    def last_committed(self) -> int | None:
        """Return the newest batch that was committed, None before the first."""
        return max(self._batches("commits"), default=None)

    def newest_batches(self) -> tuple[int | None, int | None]:
        """Return the newest batches that were planned and committed."""
        return self.last_planned(), self.last_committed()

    def committed_after(self, batch_id: int | None) -> tuple[int, ...]:
        """Return the committed batches after a batch (None: all) whose plans are still there."""
        after = -1 if batch_id is None else batch_id
        planned = self._batches("offsets")
        return tuple(sorted(n for n in self._batches("commits") & planned if n > after))

    def plan(self, batch_id: int) -> BatchPlan:
        """Return the plan of a batch.

        Raises:
            DamagedCheckpointError: it is not there, or not in the form of offset log version 2.
        """
        file = f"offsets/{batch_id}"
        text = self._storage.read_text(self._file(file))
        version, _, rest = (text or "").partition("\n")
        if version != _VERSION:
            raise self._damaged(file, text, f"a plan that begins with `{_VERSION}`")
        metadata, *lines = rest.split("\n")
        try:
            json.loads(metadata)
        except ValueError as err:
            raise self._damaged(file, metadata, "metadata as JSON") from err
        named = (line.partition(":") for line in lines if line)
        return BatchPlan(
            batch_id=batch_id,
            metadata=metadata,
            sources={DatasetName(name): offsets for name, _, offsets in named},
        )

    def start_offsets(self, batch_id: int, source: DatasetName) -> Offsets:
        """Return where a batch begins in a topic.

        Where the batch before it ends; for the first batch of a source, and for partitions that
        were added since, where Spark found their beginning.
        """
        before = self.plan(batch_id - 1).offsets(source) if batch_id > 0 else {}
        return before or self.initial_offsets(source)

    def initial_offsets(self, source: DatasetName) -> Offsets:
        """Return where a topic is read from at first; empty while Spark has not looked."""
        text = self._storage.read_text(self._file(f"sources/{source}/0"))
        if text is None or not text.startswith(_INITIAL_PREFIX):
            return {}
        return parse_offsets(text.removeprefix(_INITIAL_PREFIX))

    def note_conf(self, key: str, value: str) -> None:
        """Add a setting to the newest plans, where Spark has not noted it.

        With offset log version 2 Spark leaves the number of shuffle partitions out of the plans of
        a query's first run. When it then finds a batch to run again it looks for the number in
        that plan and the one before, and fails with `None.get`: the query could never start again.
        """
        last = self.last_planned()
        for batch_id in () if last is None else (last, last - 1):
            if batch_id < 0 or not self._storage.exists(self._file(f"offsets/{batch_id}")):
                continue
            plan = self.plan(batch_id)
            metadata = json.loads(plan.metadata)
            if key not in metadata["conf"]:
                metadata["conf"][key] = value
                self._write_plan(
                    replace(plan, metadata=json.dumps(metadata, separators=(",", ":")))
                )

    def rewrite_offsets(self, batch_id: int, source: DatasetName, offsets: Offsets) -> None:
        """Let a planned batch end elsewhere in one topic, all else unchanged."""
        plan = self.plan(batch_id)
        self._write_plan(replace(plan, sources={**plan.sources, source: format_offsets(offsets)}))

    def rewrite_initial_offsets(self, source: DatasetName, offsets: Offsets) -> None:
        """Let the very first batch begin elsewhere in one topic."""
        text = _INITIAL_PREFIX + format_offsets(offsets)
        self._storage.write_text(self._file(f"sources/{source}/0"), text)

    def files_seen(self, source: DatasetName, batch_id: int) -> tuple[str, ...]:
        """Return the files that a batch read from a watched folder."""
        first = self._log_offset(batch_id - 1, source) + 1 if batch_id > 0 else 0
        wanted = range(first, self._log_offset(batch_id, source) + 1)
        return tuple(path for entry in wanted for path in self._files_of_entry(source, entry))

    def _log_offset(self, batch_id: int, source: DatasetName) -> int:
        text = self.plan(batch_id).sources.get(source)
        return -1 if text in (None, _NOTHING) else int(json.loads(text)["logOffset"])

    def _files_of_entry(self, source: DatasetName, entry: int) -> Iterator[str]:
        """Read one entry of a source's log of files; old ones are part of a later compaction."""
        folder = self._file(f"sources/{source}")
        numbers = {int(name.removesuffix(_COMPACT)): name for name in self._storage.names(folder)}
        name = numbers.get(entry) or next(
            (numbers[n] for n in sorted(numbers) if n > entry and numbers[n].endswith(_COMPACT)), ""
        )
        text = self._storage.read_text(f"{folder}/{name}") if name else None
        for line in (text or "").split("\n")[1:]:
            seen = json.loads(line)
            if seen["batchId"] == entry:
                yield str(seen["path"])

    def _write_plan(self, plan: BatchPlan) -> None:
        sources = (f"{name}:{text}" for name, text in plan.sources.items())
        text = "\n".join((_VERSION, plan.metadata, *sources))
        self._storage.write_text(self._file(f"offsets/{plan.batch_id}"), text)

    def _check_plan(self, batch_id: int) -> None:
        """Check a plan that nothing depends on yet: it can be made again."""
        try:
            self.plan(batch_id)
        except DamagedCheckpointError as err:
            raise err.with_remedy(self._remedy_without("offsets", batch_id)) from err
        if batch_id > 0 and self.last_committed() != batch_id - 1:
            file = f"commits/{batch_id - 1}"
            raise self._damaged(file, None, f"the commit of the batch before {batch_id}")

    def _check_commit(self, batch_id: int) -> None:
        name = f"commits/{batch_id}"
        lines = (self._storage.read_text(self._file(name)) or "").split("\n")
        try:
            json.loads(lines[1])
        except (ValueError, IndexError) as err:
            fault = self._damaged(name, lines[0], "a version and JSON")
            raise fault.with_remedy(self._remedy_without("commits", batch_id)) from err

    def _remedy_without(self, folder: str, batch_id: int) -> str:
        place = self._storage.path(self._file(folder))
        again = "planned" if folder == "offsets" else "run"
        return (
            f"delete `{place}/{batch_id}` and `{place}/.{batch_id}.crc`: the batch is then {again} "
            "again"
        )

    def _batches(self, folder: str) -> set[int]:
        names = self._storage.names(self._file(folder))
        return {int(name) for name in names if name.isdecimal()}

    def _file(self, name: str) -> str:
        return f"{self._path}/{name}"

    def _damaged(self, name: str, text: str | None, expected: str) -> DamagedCheckpointError:
        shown = "there is no such file" if text is None else f"it begins with `{text[:20]!r}`"
        return DamagedCheckpointError(
            self._storage.path(self._file(name)),
            found="it is empty" if text == "" else shown,
            expected=expected,
            remedy=f"put back a copy of `{self.location}`, or move the folder and the files "
            "beside it away: the flow then begins anew",
        )


def parse_offsets(text: str | None) -> Offsets:
    """Return the offsets in Spark's JSON of a Kafka source; no text is none."""
    return offsets_of(None if text in (None, _NOTHING) else json.loads(text))


def offsets_of(topics: Mapping[str, Mapping[str, int]] | None) -> Offsets:
    """Return the offsets in such JSON once it is read; None when a source has not begun."""
    return {
        TopicPartition(TopicName(topic), Partition(int(partition))): Offset(int(offset))
        for topic, partitions in (topics or {}).items()
        for partition, offset in partitions.items()
    }


def format_offsets(offsets: Offsets) -> str:
    """Return offsets as Spark writes them."""
    topics: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        topics.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps(topics, separators=(",", ":"))
