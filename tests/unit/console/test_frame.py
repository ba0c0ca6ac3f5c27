"""What all pages share: lists, forms, words and drawings."""

import json
import re
import shlex
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment
from pydantic import Field
from starlette.routing import compile_path

from penstock.console.access.roles import Role
from penstock.console.access.users import User
from penstock.console.app import MENU, table
from penstock.console.errors import InvalidFormError
from penstock.console.frame import Ask, listing
from penstock.console.frame.actions import Form
from penstock.console.frame.charts import Line, line_chart, sparkline, stacked_chart
from penstock.console.frame.forms import inputs_of, parsed
from penstock.console.frame.openapi import description
from penstock.console.frame.past import recent
from penstock.console.frame.rendering import STATIC, environment
from penstock.console.frame.words import amount, duration, said
from penstock.control.overviews import OverallState
from penstock.control.supervision import FlowState
from penstock.monitoring.catalog import Unit
from penstock.monitoring.groups import Verdict

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _ask(url: str) -> Ask:
    query = dict(parse_qsl(urlsplit(url).query))
    user = User(name="local", role=Role.ADMIN)
    return Ask(world=None, user=user, at=NOW, url=url, query=query)  # type: ignore[arg-type]


def _listed(url: str, items: list[int | None]) -> list[int | None]:
    found = listing(
        enumerate(items),
        _ask(url),
        text=lambda item: f"item {item[1]}",
        columns={"value": lambda item: item[1], "place": lambda item: item[0]},
        sort="place",
    )
    return [value for _, value in found.items]


def test_a_list_is_searched_sorted_and_cut() -> None:
    items: list[int | None] = [3, 1, None, 2]

    assert _listed("/x", items) == items
    assert _listed("/x?sort=value", items) == [1, 2, 3, None]
    assert _listed("/x?sort=-value", items) == [3, 2, 1, None]
    assert _listed("/x?q=ITEM+3", items) == [3]
    assert _listed("/x?sort=value&size=2&page=2", items) == [3, None]
    assert _listed("/x?sort=nonsense&page=99&size=nonsense", items) == items


@given(st.lists(st.integers() | st.none(), max_size=30), st.integers(1, 7))
def test_the_pages_of_a_list_are_the_whole_list(items: list[int | None], size: int) -> None:
    pages = listing(
        items, _ask(f"/x?size={size}"), text=str, columns={"v": lambda v: v}, sort="v"
    ).pages
    together = [
        value
        for page in range(1, pages + 1)
        for value in listing(
            items,
            _ask(f"/x?size={size}&page={page}"),
            text=str,
            columns={"v": lambda v: v},
            sort="v",
        ).items
    ]

    assert together == sorted(v for v in items if v is not None) + [v for v in items if v is None]


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Example(Form):
    name: str = Field(title="The name", description="of something")
    count: int | None = Field(default=None, ge=1)
    level: Level = Level.LOW
    kind: Literal["a", "b"] = "a"
    sure: bool = False


def test_inputs_follow_the_fields_of_a_form() -> None:
    inputs = {item.name: item for item in inputs_of(Example, {"count": "7"})}

    assert inputs["name"].label == "The name"
    assert inputs["name"].is_required
    assert inputs["count"].kind == "number"
    assert inputs["count"].value == "7"
    assert inputs["level"].choices == ("low", "high")
    assert inputs["level"].value == "low"
    assert inputs["kind"].kind == "choice"
    assert inputs["sure"].kind == "checkbox"


def test_an_empty_input_is_not_filled_in() -> None:
    assert parsed(Example, {"name": "x", "count": "", "sure": "true"}) == Example(
        name="x", sure=True
    )


@pytest.mark.parametrize(
    ("entered", "told"),
    [
        ({"name": ""}, "`name`: field required"),
        ({"name": "x", "count": "0"}, "`count`: input should be greater than or equal to 1"),
        ({"name": "x", "other": "y"}, "`other`: extra inputs are not permitted"),
    ],
)
def test_a_wrong_input_is_named(entered: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidFormError) as refused:
        parsed(Example, entered)

    assert refused.value.message == told


@pytest.mark.parametrize(
    ("value", "unit", "told"),
    [
        (None, Unit.BYTES, "-"),
        (0, Unit.BYTES, "0 B"),
        (1536, Unit.BYTES, "1.5 KiB"),
        (1234, Unit.RECORDS_PER_SECOND, "1.23 k/s"),
        (999_999, Unit.COUNT, "1000 k"),
        (0.85, Unit.RATIO, "85 %"),
        (0.0032, Unit.SECONDS, "3.2 ms"),
        (-5, Unit.RECORDS, "-5"),
    ],
)
def test_figures_are_short(value: float | None, unit: Unit, told: str) -> None:
    assert amount(value, unit) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 ms"), (4.13, "4.13 s"), (300, "5 min"), (7800, "2 h 10 min"), (273_600, "3 d 4 h")],
)
def test_times_are_told_in_two_units(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_drawings_are_svg_that_says_in_words_what_it_shows() -> None:
    points = [(NOW + timedelta(minutes=n), None if n == 3 else float(n)) for n in range(6)]
    lines = [Line(name="a <b>", points=points), Line(name="c", points=points)]
    until = NOW + timedelta(minutes=5)

    for draw in (line_chart, stacked_chart):
        drawn = draw(lines, unit=Unit.COUNT, title="Rates & more", since=NOW, until=until)
        root = ET.fromstring(drawn)  # noqa: S314 - ours

        svg = root.find("svg")
        assert svg is not None
        assert "a <b>: now 5" in svg.attrib["aria-label"]
        assert not [item for item in root.iter() if "style" in item.attrib]
    small = ET.fromstring(sparkline(points, title="x", since=NOW, until=until))  # noqa: S314 - ours
    assert len(small[0].attrib["points"].split()) == 5
    assert "no figures" in sparkline([], title="x", since=NOW, until=until)


def test_a_small_line_ends_where_its_points_do() -> None:
    """A pipeline that ended eight minutes ago fills the first fifth of the last ten."""
    since, until = recent(NOW)
    points = [(since + timedelta(seconds=20 * n), 1.0) for n in range(7)]
    drawn = ET.fromstring(sparkline(points, title="x", since=since, until=until))  # noqa: S314 - ours
    places = [float(point.split(",")[0]) for point in drawn[0].attrib["points"].split()]

    assert until - since == timedelta(minutes=10)
    assert (places[0], places[-1]) == (0, 24)
    assert float(drawn.attrib["width"]) == 120


def test_small_lines_look_the_same_until_there_is_another_point() -> None:
    assert recent(NOW) == recent(NOW + timedelta(seconds=19))
    assert recent(NOW) != recent(NOW + timedelta(seconds=20))


STYLES = (STATIC / "console.css").read_text()


def test_what_is_said_by_a_colour_has_one() -> None:
    """But for what has stopped: that is neither well nor in trouble."""
    rules = re.findall(r"^([^{}@]+)\{ color: var\(--(?:good|warn|bad)\)", STYLES, re.MULTILINE)
    coloured = {name for rule in rules for name in re.findall(r"\.([\w-]+)", rule)}
    states = (*OverallState, *FlowState, *Verdict, "refused")
    said = {"well", "ill", "good", "bad", *(f"state-{it.replace(' ', '-')}" for it in states)}

    assert said - coloured == {"state-stopped"}


def test_colours_can_be_read_on_every_ground() -> None:
    """In light and in dark, as WCAG counts contrast."""
    schemes = [
        dict(re.findall(r"--([\w-]+): #(\w{6})", scheme))
        for scheme in re.findall(r":root \{(.*?)\n *\}", STYLES, re.DOTALL)
    ]
    weak = [
        (number, ink, ground)
        for number, scheme in enumerate(schemes)
        for ink in ("ink", "soft", "link", "good", "warn", "bad")
        for ground in ("ground", "raised")
        if _contrast(scheme[ink], scheme[ground]) < 4.5
    ]

    assert (len(schemes), weak) == (2, [])


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_each_address_is_declared_once_and_described() -> None:
    known = table()
    names = [
        *(page.name for page in known.pages),
        *(action.name for action in known.actions),
        *(endpoint.name for endpoint in known.endpoints),
    ]
    told = description(known.pages, known.actions, known.endpoints, version="1")

    assert len(names) == len(set(names))
    assert len({page.path for page in known.pages}) == len(known.pages)
    described = [
        operation["operationId"] for place in told["paths"].values() for operation in place.values()
    ]
    assert sorted(described) == sorted(
        [*names, *(f"ask_{action.name}" for action in known.actions)]
    )


def test_each_model_is_described_by_its_own_schema() -> None:
    """Several models of the console are called the same: `LevelForm`, `PartitionLine`, `Row`."""
    known = table()
    told = description(known.pages, known.actions, known.endpoints, version="1")
    schemas = told["components"]["schemas"]

    def fields_in(schema: dict[str, Any]) -> set[str]:
        found = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        return set(found.get("properties", {}))

    def content(described: dict[str, Any]) -> dict[str, Any]:
        schema: dict[str, Any] = described["content"]["application/json"]["schema"]
        return schema

    operations = {
        operation["operationId"]: operation
        for place in told["paths"].values()
        for operation in place.values()
    }
    for page in known.pages:
        shown = content(operations[page.name]["responses"]["200"])
        assert fields_in(shown) == {item.name for item in fields(page.model)}, page.name
    for action in known.actions:
        entered = set(action.form.model_fields)
        sent = content(operations[action.name]["requestBody"])
        assert fields_in(sent) == {*entered, "_ask"}, action.name
        asked = operations[f"ask_{action.name}"]
        queries = {item["name"] for item in asked["parameters"] if item["in"] == "query"}
        assert queries == ({*entered, "_ask"} if entered else set()), action.name
        assert fields_in(content(asked["responses"]["200"])) == {"inputs", "question"}
    query = content(operations["query_metrics"]["requestBody"])
    assert {"aggregations", "filter", "granularity"} <= fields_in(query)
    exported = {item["name"] for item in operations["export_records"]["parameters"]}
    assert {"topic", "format", "start", "key"} <= exported


def test_each_reference_in_the_description_leads_to_a_schema() -> None:
    known = table()
    told = description(known.pages, known.actions, known.endpoints, version="1")
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(told)))

    assert named
    assert named - set(told["components"]["schemas"]) == set()


def test_no_name_makes_an_address_mean_something_else() -> None:
    """A topic called `create` and a group called `x/delete` have pages like others."""
    known = table()
    declared = [
        *(("GET", action.path) for action in known.actions),
        *((endpoint.method, endpoint.path) for endpoint in known.endpoints),
        *(("GET", page.path) for page in known.pages),
    ]
    patterns = [(method, path, compile_path(path)[0]) for method, path in declared]
    words = {word for _, path in declared for word in path.split("/") if word and "{" not in word}

    def lead_to(path: str, name: str, method: str) -> str:
        place = re.sub(r"{[^}]*:path}", name, path)
        place = re.sub(r"{[^}]*}", name.partition("/")[0], place)
        return next(path for verb, path, at in patterns if verb == method and at.match(place))

    names = [*words, *(f"x/{word}" for word in words), *(f"{word}/x" for word in words)]
    names += [f"{word}/group/x" for word in words]
    elsewhere = {
        (path, name): lead_to(path, name, method)
        for method, path in declared
        for name in names
        if lead_to(path, name, method) != path
    }
    assert elsewhere == {}


def test_the_twin_of_a_page_is_asked_for_as_a_shell_reads_it() -> None:
    curl = _ask("/topics/a/records?key=it's&header=x").curl

    assert shlex.split(curl) == [
        "curl",
        "-H",
        "Accept: application/json",
        "http://127.0.0.1/topics/a/records?key=it's&header=x",
    ]


def test_each_part_that_changes_has_a_place_on_its_page() -> None:
    templates, changing = environment(), [page for page in table().pages if page.live]
    without = [
        (page.name, part)
        for page in changing
        for part in page.live
        if part not in templates.get_template(page.template).blocks
        or f'data-live="{part}"' not in _source(templates, page.template)
    ]

    assert without == []
    assert {"show_subject", "audit_pipeline", "list_batches", "show_trail"} <= {
        page.name for page in changing
    }


def _source(templates: Environment, name: str) -> str:
    assert templates.loader is not None
    return templates.loader.get_source(templates, name)[0]


def test_each_entry_of_the_menu_is_a_page() -> None:
    pages = {page.path: page for page in table().pages}

    for entry in MENU:
        assert pages[entry.path].menu == entry.title


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("flow `detect` has <b>", "flow <code>detect</code> has &lt;b&gt;"),
        ("`<script>` and `&`", "<code>&lt;script&gt;</code> and <code>&amp;</code>"),
        ("one ` alone", "one ` alone"),
    ],
)
def test_what_a_sentence_marks_is_code_and_nothing_else_is_html(sentence: str, shown: str) -> None:
    assert str(said(sentence)) == shown
