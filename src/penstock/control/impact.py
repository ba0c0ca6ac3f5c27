"""What a proposed schema would break, before anybody registers it.

The flows of a project are analyzed with it (`engine/impact.py`). Of pipelines elsewhere in the
cluster only that is known which their drivers publish: the subjects they read, and which columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from penstock.control.fleet import PipelineView
    from penstock.control.status_records import PipelineState
    from penstock.engine.events import SubjectRead
    from penstock.engine.outcomes import FlowOutcome, FlowTrial
    from penstock.names import DatasetName, FlowName, PipelineName, Subject, TopicName
    from penstock.registry.project import FileCheck


class Verdict(StrEnum):
    """What a proposed schema does to a flow."""

    SAME = "same"
    """It gives the columns that it gives today."""

    CHANGED = "changed"
    """It runs on, and something has another type, is gone or is new."""

    BREAKS = "breaks"
    """It cannot be analyzed any more, or its columns do not fit what it writes."""

    FITS = "fits"
    """It can be analyzed; there is no schema of today to compare with."""

    UNKNOWN = "unknown"
    """It cannot be analyzed today either, or is declarative."""


class FlowsWouldBreakError(PenstockError):
    """Flows would not run with a proposed schema."""

    code = "PEN-757"

    def __init__(self, subject: Subject, flows: Sequence[str]) -> None:
        names = ", ".join(f"`{flow}`" for flow in flows)
        super().__init__(
            f"the proposed schema of `{subject}` would break {names}",
            hint="change these flows first, or keep what they use; `--json` has every reason",
        )
        self.subject, self.flows = subject, tuple(flows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange:
    """A column that is not what it was."""

    column: str
    old: str | None
    """Its type today; None: it is new."""

    new: str | None
    """Its type with the proposal; None: it is gone."""

    def __str__(self) -> str:
        """Return what changes, in a few words."""
        if self.old is None:
            return f"new: {self.column} {self.new}"
        if self.new is None:
            return f"gone: {self.column} {self.old}"
        return f"{self.column}: {self.old} → {self.new}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowImpact:
    """What the proposal does to a flow of the project."""

    flow: FlowName
    read: tuple[DatasetName, ...]
    written: tuple[DatasetName, ...]
    """Empty, as `read` is, for a flow that reads a table of one that is concerned."""

    uses: Mapping[str, str]
    """The columns of the subject that it uses, with the types they have in the flow."""

    verdict: Verdict
    changes: tuple[ColumnChange, ...] = ()
    """Of what it returns."""

    problems: tuple[PenstockError, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowElsewhere:
    """What the proposal does to a flow of another pipeline, by what its driver published."""

    pipeline: PipelineName
    state: PipelineState
    code_version: str
    flow: FlowName
    topic: TopicName
    uses: Mapping[str, str]
    verdict: Verdict
    changes: tuple[ColumnChange, ...] = ()
    """Of the columns that it uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """All that is known about what a proposal does."""

    subject: Subject
    file: Path
    flows: tuple[FlowImpact, ...]
    elsewhere: tuple[FlowElsewhere, ...]
    check: FileCheck | None
    """What the schema is to the registry; None when that could not be asked."""

    unknown: tuple[str, ...] = ()
    """What could not be found out, and why."""

    @property
    def broken(self) -> tuple[str, ...]:
        """The flows that would break, those of other pipelines with the name of theirs."""
        here = [item.flow for item in self.flows if item.verdict is Verdict.BREAKS]
        there = [
            f"{item.pipeline}/{item.flow}"
            for item in self.elsewhere
            if item.verdict is Verdict.BREAKS
        ]
        return (*here, *dict.fromkeys(there))


def flow_impact(trial: FlowTrial, *, away: PenstockError | None = None) -> FlowImpact:
    """Return what follows from analyzing a flow with and without the proposal.

    Args:
        trial: the flow.
        away: why the registry could not be asked, which is no fault of the proposal.
    """
    problems = tuple(item for item in _new_problems(trial) if item is not away)
    changes = _changes_of(trial.before, trial.after)
    return FlowImpact(
        flow=trial.flow.name,
        read=tuple(topic.name for topic in trial.read),
        written=tuple(topic.name for topic in trial.written),
        uses={name: type_ for read in subjects_used(trial) for name, type_ in read.columns.items()},
        verdict=_verdict(trial, problems, changes),
        changes=changes,
        problems=problems or trial.after.problems,
    )


def subjects_used(trial: FlowTrial) -> tuple[SubjectRead, ...]:
    """Return what a flow uses of the values and keys that the proposal is about."""
    reads = (trial.before.reads if trial.before else ()) or trial.after.reads
    return tuple(read for read in reads if (read.topic, read.is_key) in trial.sides)


def flows_elsewhere(
    views: Sequence[PipelineView],
    *,
    but: PipelineName,
    subjects: Collection[Subject],
    proposed: Mapping[str, str] | None,
) -> tuple[FlowElsewhere, ...]:
    """Return the flows of other pipelines that read a subject, and what they would miss.

    Args:
        views: the pipelines of a cluster.
        but: the pipeline of the project, which is analyzed.
        subjects: what the proposal is for.
        proposed: the columns of the proposal; None: Spark has none for it.
    """
    return tuple(
        _elsewhere(view, flow, read, proposed)
        for view in views
        if view.record is not None and view.pipeline != but
        for flow, reads in ((item.flow, item.reads) for item in view.record.flows)
        for read in reads
        if read.subject in subjects
    )


def column_changes(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[ColumnChange, ...]:
    """Return the columns that differ, in the order of `old`, and then those that are new."""
    return tuple(
        ColumnChange(column=name, old=old.get(name), new=new.get(name))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    )


def _elsewhere(
    view: PipelineView, flow: FlowName, read: SubjectRead, proposed: Mapping[str, str] | None
) -> FlowElsewhere:
    assert view.record is not None  # noqa: S101 - whoever calls has looked
    changes: tuple[ColumnChange, ...] = ()
    verdict = Verdict.UNKNOWN
    if proposed is not None:
        left = {name: proposed[name] for name in read.columns if name in proposed}
        changes = column_changes(read.columns, left)
        is_missing = any(change.new is None for change in changes)
        verdict = Verdict.CHANGED if changes else Verdict.SAME
        verdict = Verdict.BREAKS if is_missing else verdict
    return FlowElsewhere(
        pipeline=view.pipeline,
        state=view.state,
        code_version=view.record.code_version,
        flow=flow,
        topic=read.topic,
        uses=read.columns,
        verdict=verdict,
        changes=changes,
    )


def _new_problems(trial: FlowTrial) -> list[PenstockError]:
    """Return the problems that a flow has only with the proposal."""
    known = {(item.code, item.message) for item in trial.before.problems} if trial.before else ()
    return [item for item in trial.after.problems if (item.code, item.message) not in known]


def _changes_of(before: FlowOutcome | None, after: FlowOutcome) -> tuple[ColumnChange, ...]:
    if before is None or before.columns is None or after.columns is None:
        return ()
    return column_changes(before.columns, after.columns)


def _verdict(
    trial: FlowTrial, problems: Sequence[PenstockError], changes: Sequence[ColumnChange]
) -> Verdict:
    is_known_before = trial.before is not None and not trial.before.problems
    if problems:
        return Verdict.BREAKS
    if trial.after.problems or trial.after.columns is None:
        return Verdict.UNKNOWN
    if not is_known_before:
        return Verdict.FITS
    return Verdict.CHANGED if changes else Verdict.SAME
