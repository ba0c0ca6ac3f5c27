"""The explorer: what it draws, and that its command asks for the same."""

import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest

from penstock.console.access.roles import Role
from penstock.console.access.users import User
from penstock.console.frame import Ask
from penstock.console.frame.rendering import Renderer, environment
from penstock.console.metrics.pages import EXPLORER, Explorer, load
from penstock.monitoring.catalog import SERIES, Unit, sample
from penstock.monitoring.catalog.flows import INPUT_RATE, INPUT_RECORDS
from penstock.monitoring.catalog.groups import GROUP_MAX_LAG
from penstock.monitoring.frames import FRAMES
from penstock.monitoring.history import History
from penstock.monitoring.querying import QueryError, answer, parsed_question

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
NOW = NOON + timedelta(minutes=10)
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    path = tmp_path_factory.mktemp("history") / "history.sqlite"
    with History.open(path) as opened:
        for seconds in range(0, 601, 10):
            opened.add(
                NOON + timedelta(seconds=seconds),
                [
                    sample(INPUT_RATE, 5, pipeline="p", flow="slow"),
                    sample(INPUT_RATE, 50, pipeline="p", flow="fast"),
                    sample(INPUT_RECORDS, 7 * seconds, pipeline="p", flow=HOSTILE),
                    *(sample(GROUP_MAX_LAG, n, group=f"g{n:03}") for n in range(300)),
                ],
            )
        yield opened


def asked(history: History, url: str) -> Ask:
    world = SimpleNamespace(history=history, cluster=None)
    return Ask(
        world=world,  # type: ignore[arg-type] # the two things of it that the explorer reads
        user=User(name="local", role=Role.VIEWER),
        at=NOW,
        url=url,
        query=dict(parse_qsl(urlsplit(url).query)),
        origin="http://127.0.0.1:8090",
    )


def explored(history: History, url: str) -> Explorer:
    return load(asked(history, url))


def drawn(history: History, url: str) -> str:
    ask = asked(history, url)
    model = EXPLORER.load(ask)
    variables = {"model": model, "ask": ask, "now": NOW}
    return "".join(Renderer(environment()).blocks(EXPLORER.template, ("main",), variables).values())


def test_without_parameters_it_shows_what_flows_read_in_the_last_hour(history: History) -> None:
    model = explored(history, "/explorer")

    assert (model.metric, model.frame, model.unit) == (
        INPUT_RATE.name,
        "1h",
        Unit.RECORDS_PER_SECOND,
    )
    assert [(line.name, line.now, line.mean) for line in model.lines] == [
        ("pipeline p, flow fast", 50, 50),
        ("pipeline p, flow slow", 5, 5),
    ]


def test_a_count_is_drawn_as_how_fast_it_grows(history: History) -> None:
    model = explored(history, f"/explorer?metric={INPUT_RECORDS.name}&frame=10m")

    (line,) = model.lines
    assert model.unit is Unit.RECORDS_PER_SECOND
    assert line.highest == pytest.approx(7)
    assert line.mean == pytest.approx(7, rel=0.05)


def test_labels_choose_series_and_make_lines(history: History) -> None:
    chosen = explored(history, "/explorer?where.flow=slow")
    together = explored(history, "/explorer?by=all")
    by_pipeline = explored(history, "/explorer?by=pipeline")

    assert [line.name for line in chosen.lines] == ["pipeline p, flow slow"]
    assert [(line.name, line.mean) for line in together.lines] == [("all", 55)]
    assert [(line.name, line.mean) for line in by_pipeline.lines] == [("pipeline p", 55)]


def test_of_many_lines_the_highest_are_drawn_and_a_label_is_typed(history: History) -> None:
    model = explored(history, f"/explorer?metric={GROUP_MAX_LAG.name}")

    assert [line.name for line in model.drawn] == [f"group g{n}" for n in range(299, 291, -1)]
    assert (len(model.lines), model.line_count, model.lines_left_out) == (100, 300, 292)
    assert model.choices[0].values == ()


def test_more_than_can_be_drawn_is_refused_on_the_page(history: History) -> None:
    model = explored(history, f"/explorer?metric={GROUP_MAX_LAG.name}&frame=6h")
    text = drawn(history, f"/explorer?metric={GROUP_MAX_LAG.name}&frame=6h")

    assert model.lines == ()
    assert model.refusal == (
        "the query would read 300 series in 181 steps, and 50,000 points is the most: filter, "
        "shorten the interval or take a coarser granularity"
    )
    assert model.refusal in text


@pytest.mark.parametrize("frame", [frame.name for frame in FRAMES])
def test_the_command_asks_for_the_same_values(history: History, frame: str) -> None:
    ask = asked(history, f"/explorer?frame={frame}&where.flow=fast")
    model = load(ask)
    command = shlex.split(EXPLORER.command(ask, model) if EXPLORER.command else "")

    assert command[:2] == ["curl", "http://127.0.0.1:8090/metrics/query"]
    found = answer(
        parsed_question(command[-1].encode(), now=NOW), history, cluster_id=""
    ).as_dict()["data"]
    values = {row["timestamp"]: row["value"] for row in json.loads(json.dumps(found))}
    (line,) = model.lines
    assert values == {
        at.isoformat().replace("+00:00", "Z"): value
        for at, value in line.points
        if value is not None
    }


def test_every_metric_can_be_explored(history: History) -> None:
    chosen = {name: drawn(history, f"/explorer?metric={name}") for name in SERIES}

    assert [name for name, text in chosen.items() if f"<option selected>{name}<" not in text] == []


def test_hostile_labels_are_shown_and_not_run(history: History) -> None:
    text = drawn(history, f"/explorer?metric={INPUT_RECORDS.name}&where.flow=%3Cb%3E")

    assert "<script>alert" not in text
    assert "&#34;&gt;&lt;script&gt;" in drawn(history, f"/explorer?metric={INPUT_RECORDS.name}")
    assert "<b>" not in text


@pytest.mark.parametrize("url", ["/explorer?metric=nonsense", "/explorer?agg=MEDIAN"])
def test_what_there_is_not_is_refused(history: History, url: str) -> None:
    with pytest.raises(QueryError):
        explored(history, url)
