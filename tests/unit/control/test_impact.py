"""What follows from analyzing flows with and without a proposed schema; no Spark, no Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.control.fleet import PipelineView
from penstock.control.impact import (
    ColumnChange,
    Impact,
    Verdict,
    column_changes,
    flow_impact,
    flows_elsewhere,
)
from penstock.control.proposals import NoSubjectError, load_proposal
from penstock.control.status import Rates, Totals
from penstock.control.status_fold import Identity, StatusFold
from penstock.control.status_records import (
    FlowRecord,
    PipelineState,
    decode_status,
    encode_status,
)
from penstock.control.supervision import FlowState
from penstock.engine.analysis_errors import NotAnalyzedError
from penstock.engine.events import FlowStarted, SubjectRead
from penstock.engine.outcomes import FlowOutcome, FlowTrial
from penstock.names import DatasetName, FlowName, PipelineName, Subject, TopicName
from penstock.pipeline import Flow, Topic
from penstock.registry.client import RegistryUnavailableError
from support.declared import ORIGIN
from support.drivers import SHOP, driver, status
from support.pipeline_events import NOON

if TYPE_CHECKING:
    from pathlib import Path

SUBJECT = Subject("users-value")
USERS = Topic(name=DatasetName("users"), origin=ORIGIN)
FLOW = Flow(
    name=FlowName("welcome"),
    origin=ORIGIN,
    function=lambda users: users,
    reads=(USERS.name,),
    targets={"": DatasetName("members")},
)
AWAY = RegistryUnavailableError(url="http://far", reason="it is down")


def broken(text: str) -> NotAnalyzedError:
    return NotAnalyzedError(who="flow `welcome`", reason=text, hint="-", origin=ORIGIN)


def read(*, is_key: bool = False, **columns: str) -> SubjectRead:
    return SubjectRead(topic=TopicName("users"), subject=SUBJECT, is_key=is_key, columns=columns)


def trial(before: FlowOutcome | None, after: FlowOutcome) -> FlowTrial:
    sides = frozenset({(TopicName("users"), False)})
    return FlowTrial(flow=FLOW, sides=sides, read=(USERS,), written=(), before=before, after=after)


GOOD = FlowOutcome(columns={"a": "int"}, reads=(read(a="int"), read(is_key=True, value="bigint")))
OTHER = FlowOutcome(columns={"a": "bigint"})
NONE = FlowOutcome(columns=None)
BAD = FlowOutcome(columns=None, problems=(broken("no column"),))
WAITING = FlowOutcome(columns=None, problems=(AWAY,))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (GOOD, GOOD, Verdict.SAME),
        (GOOD, OTHER, Verdict.CHANGED),
        (GOOD, BAD, Verdict.BREAKS),
        (BAD, BAD, Verdict.UNKNOWN),
        (BAD, GOOD, Verdict.FITS),
        (None, GOOD, Verdict.FITS),
        (None, BAD, Verdict.BREAKS),
        (None, WAITING, Verdict.UNKNOWN),
        (NONE, NONE, Verdict.UNKNOWN),
    ],
)
def test_a_flow_breaks_by_problems_that_it_has_only_with_the_proposal(
    before: FlowOutcome | None, after: FlowOutcome, verdict: Verdict
) -> None:
    assert flow_impact(trial(before, after), away=AWAY).verdict is verdict


def test_the_use_of_a_key_is_not_that_of_a_value() -> None:
    assert flow_impact(trial(GOOD, BAD)).uses == {"a": "int"}


def test_columns_are_compared_by_name_and_type() -> None:
    changes = column_changes(
        {"a": "int", "b": "int", "c": "int"}, {"d": "int", "b": "int", "a": "x"}
    )

    assert changes == (
        ColumnChange(column="a", old="int", new="x"),
        ColumnChange(column="c", old="int", new=None),
        ColumnChange(column="d", old=None, new="int"),
    )
    assert [str(change) for change in changes] == ["a: int → x", "gone: c int", "new: d int"]


def view(name: str, *reads: SubjectRead) -> PipelineView:
    flow = FlowRecord(
        flow=FlowName("invoice"),
        state=FlowState.RUNNING,
        since=NOON,
        rates=Rates(records_in=0, records_out=0),
        totals=Totals(),
        reads=reads,
    )
    said = status(PipelineState.RUNNING, pipeline=PipelineName(name), flows=(flow,))
    record = decode_status(encode_status(said))
    return PipelineView(
        pipeline=PipelineName(name),
        state=PipelineState.RUNNING,
        since=NOON,
        why=None,
        driver=driver(),
        seen_at=NOON,
        record=record,
    )


def test_of_pipelines_elsewhere_it_is_known_which_columns_they_would_miss() -> None:
    views = [
        view("a", read(id="int")),
        view("b", read(id="int", email="string")),
        view("c", read(id="string")),
        view(
            "d", SubjectRead(topic=TopicName("x"), subject=Subject("x"), is_key=False, columns={})
        ),
        view("e"),
        view(SHOP, read(email="string")),
    ]

    found = flows_elsewhere(
        views, but=SHOP, subjects={SUBJECT}, proposed={"id": "int", "phone": "string"}
    )
    unreadable = flows_elsewhere(views[:1], but=SHOP, subjects={SUBJECT}, proposed=None)

    assert [(item.pipeline, item.verdict) for item in found] == [
        ("a", Verdict.SAME),
        ("b", Verdict.BREAKS),
        ("c", Verdict.CHANGED),
    ]
    assert found[1].changes == (ColumnChange(column="email", old="string", new=None),)
    assert (found[1].code_version, found[1].topic) == ("0123456789ab", "users")
    assert [item.verdict for item in unreadable] == [Verdict.UNKNOWN]


def test_what_breaks_elsewhere_is_named_with_its_pipeline(tmp_path: Path) -> None:
    elsewhere = flows_elsewhere(
        [view("b", read(email="string"))], but=SHOP, subjects={SUBJECT}, proposed={}
    )
    impact = Impact(
        subject=SUBJECT,
        file=tmp_path,
        flows=(flow_impact(trial(GOOD, BAD)), flow_impact(trial(GOOD, OTHER))),
        elsewhere=elsewhere,
        check=None,
    )

    assert impact.broken == ("welcome", "b/invoice")


def test_what_a_flow_said_at_its_last_start_is_published() -> None:
    identity = Identity(pipeline=SHOP, driver=driver(), epoch=4, profile="local")
    fold = StatusFold(identity, at=NOON)
    fold.begin([FLOW.name], at_first=FlowState.STARTING, at=NOON)
    uses = (read(id="int"),)

    fold.apply(
        FlowStarted(flow=FLOW.name, at=NOON, query_id="8f4f", resumed_batch=None, reads=uses)
    )

    assert [flow.reads for flow in fold.record(NOON).flows] == [uses]


def test_a_record_of_a_driver_that_does_not_say_what_it_uses_can_be_read() -> None:
    record = view("a", read(id="int")).record
    assert record is not None
    old = encode_status(record).replace(b',"reads":[{', b',"former":[{')

    known = decode_status(old)

    assert known is not None
    assert [flow.reads for flow in known.flows] == [()]


def test_the_schema_of_today_is_the_file_of_the_project_unless_that_is_the_proposal(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    own, draft = folder / "users-value.avsc", tmp_path / "draft.avsc"
    own.write_text('"int"')
    draft.write_text('"long"')

    changed = load_proposal(own, None, folder=folder)
    drafted = load_proposal(draft, SUBJECT, folder=folder)

    assert (changed.subject, changed.today, changed.others) == (SUBJECT, None, ())
    assert drafted.today is not None
    assert (drafted.subject, drafted.today.path, drafted.file.path) == (SUBJECT, own, draft)
    with pytest.raises(NoSubjectError):
        load_proposal(draft, None, folder=folder)
