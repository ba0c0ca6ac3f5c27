"""The record browser in Chromium: searches that tell how far they are, keys, hostile records."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from support.browser import NARROW, WIDE, Screen, Window
from support.consoles import running_console, served
from support.producing import Sent, fill, send
from support.raw_records import RawRecord, send_raw
from support.terminal import understood

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from penstock.local.cluster import KafkaCluster
    from penstock.names import TopicName

pytestmark = pytest.mark.timeout(240)

HOSTILE = "<img src=x onerror=window.harm=1><script>window.harm=1</script>"
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("console")
    with running_console(kafka.connection, folder) as client, served(client.app) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def window(chromium: Browser, console: str) -> Iterator[Window]:
    with Window.opened(chromium, WIDE, console) as window:
        yield window
        assert window.faults == []
        assert window.harm() is None


@pytest.fixture(scope="module")
def hostile(kafka: KafkaCluster) -> TopicName:
    """A topic whose records try to run scripts, in every place a record has."""
    topic = kafka.create_topic(f"hostile-{uuid4().hex}")
    send_raw(
        kafka.connection,
        topic,
        [
            RawRecord(
                key=HOSTILE.encode(),
                value=json.dumps({HOSTILE: HOSTILE, "n": n}).encode(),
                headers=((HOSTILE, HOSTILE.encode()),),
            )
            for n in range(30)
        ]
        + [RawRecord(key=b"x" * 500, value=b"y" * 5000), RawRecord(value=None)],
    )
    return topic


@pytest.fixture(scope="module")
def many(kafka: KafkaCluster) -> TopicName:
    """A topic that takes longer to be read than a page takes to answer."""
    topic = kafka.create_topic(f"many-{uuid4().hex}", partition_count=3)
    send_raw(kafka.connection, topic, [RawRecord(value=HOSTILE.encode(), partition=0)])
    fill(kafka.connection, topic, 600_000)
    return topic


@pytest.fixture(scope="module")
def orders(kafka: KafkaCluster) -> TopicName:
    """Twelve orders of four customers, a minute apart, in three partitions."""
    topic = kafka.create_topic(f"orders-{uuid4().hex}", partition_count=3)
    records = [
        Sent(
            key=f"customer-{n % 4}",
            value=json.dumps({"order": n, "items": [{"price": 10 * n}]}),
            partition=n % 3,
            timestamp=NOON + timedelta(minutes=n),
        )
        for n in range(12)
    ]
    send(kafka.connection, topic, records)
    return topic


@pytest.mark.parametrize("screen", [WIDE, NARROW], ids=lambda screen: screen.name)
@pytest.mark.parametrize("page", ["", "/0/0", "/0/31", "/0/0/again", "?start=time&time=1d"])
def test_pages_of_records_fit_read_well_and_run_nothing(
    chromium: Browser, console: str, hostile: TopicName, screen: Screen, page: str
) -> None:
    with Window.opened(chromium, screen, console) as window:
        window.open(f"/topics/{hostile}/records{page}")
        window.keep("records" + re.sub(r"\W+", "-", page))

        assert (window.overflow(), window.violations(), window.faults, window.harm()) == (
            0,
            [],
            [],
            None,
        )


QUESTIONS: dict[str, tuple[dict[str, str], list[int]]] = {
    "by key": ({"key": "customer-1", "everywhere": "1"}, [9, 5, 1]),
    "by a field": ({"where": "$.items[0].price >= 100"}, [11, 10]),
    "by key and field": ({"key": "customer-3", "everywhere": "1", "where": "$.order < 7"}, [3]),
    "from a time": (
        {"start": "time", "time": f"{NOON + timedelta(minutes=9):%FT%TZ}"},
        [9, 10, 11],
    ),
    "from an offset": ({"start": "offset", "offset": "2", "partition": "1"}, [7, 10]),
    "the oldest two": ({"start": "oldest", "size": "2"}, [0, 1]),
}
"""What is entered into the form, and the orders that are shown, in their order."""


@pytest.mark.parametrize("asked", QUESTIONS)
def test_records_are_found_with_the_form(window: Window, orders: TopicName, asked: str) -> None:
    fields, expected = QUESTIONS[asked]
    window.open(f"/topics/{orders}/records")

    for name, text in fields.items():
        place = window.page.locator(f"#{name}")
        match place.evaluate("(input) => input.type"):
            case "checkbox":
                place.check()
            case "select-one":
                place.select_option(text)
            case _:
                place.fill(text)
    window.page.click("main button:text-is('Show')")
    window.page.wait_for_url("**/records?**")
    window.page.wait_for_function("() => !document.querySelector('#search-cancel:not([hidden])')")

    shown = window.page.locator("#records tr td:nth-child(5) code").all_inner_texts()
    assert [json.loads(text)["order"] for text in shown] == expected


def test_the_command_is_copied(window: Window, orders: TopicName) -> None:
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.open(f"/topics/{orders}/records?start=oldest&where=$.order>7")

    window.stop_time()
    window.page.click("[data-copy=same]")
    window.page.locator("[data-copy=same]", has_text="Copied").wait_for()

    copied = window.page.evaluate("() => navigator.clipboard.readText()")
    assert copied == window.text("#same")
    assert understood(copied)["topics"] == (orders,)


def test_a_search_goes_on_shows_how_far_it_is_and_ends_with_what_it_found(
    window: Window, many: TopicName
) -> None:
    window.open(f"/topics/{many}/records?text=onerror")

    window.page.wait_for_selector("#search-cancel:visible")
    assert window.page.locator("#records tr").count() == 0
    window.page.wait_for_selector("#records tr", timeout=60_000)
    window.page.wait_for_function("() => document.getElementById('search').hidden")

    assert "no more records" in window.text("#progress")
    assert window.text("#records tr").split("\t")[:2] == ["0", "0"]


def test_a_search_can_be_cancelled_and_gone_on_with(window: Window, many: TopicName) -> None:
    window.open(f"/topics/{many}/records?text=nowhere")
    window.page.wait_for_function(
        "() => document.getElementById('progress').textContent.includes('more records read')"
    )

    window.page.click("#search-cancel")

    assert window.text("#progress").endswith("Cancelled.")
    on = window.page.locator("#search-on")
    assert on.is_visible()
    assert "at=" in (on.get_attribute("href") or "")


def test_without_scripts_a_search_goes_on_page_by_page(
    chromium: Browser, console: str, many: TopicName
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{console}/topics/{many}/records?text=onerror")
        for _ in range(60):
            if page.locator("#records tr").count():
                break
            page.click("#search-on")
            page.wait_for_load_state()
        assert page.locator("#records tr").count() == 1
    finally:
        context.close()


def test_keys_lead_from_the_search_to_a_record_and_back(window: Window, hostile: TopicName) -> None:
    window.open(f"/topics/{hostile}/records")

    window.press("/")
    window.page.keyboard.type('"n": 7')
    window.press("Enter")
    window.page.wait_for_url("**text=**")
    window.page.locator("#records a").first.wait_for()
    window.tab_to("#records a")
    window.press("Enter")
    window.page.wait_for_url("**/records/0/7")

    assert "Record 7" in window.text("h1")
    assert window.page.locator("time + small").count() == 1
    assert f"penstock consume {hostile} --partition 0 --from offset:7" in window.text("#same")


def test_a_record_is_produced_again_after_a_question(window: Window, hostile: TopicName) -> None:
    window.open(f"/topics/{hostile}/records/0/3")

    window.page.click("text=Produce again")
    window.page.fill("#value", '{"changed": true}')
    window.page.click("text=Continue")
    assert "nothing takes it back" in window.text(".question")
    window.page.click("button:text-is('Produce')")

    assert "produced to partition 0" in window.text(".notice.done")
    assert '{"changed": true}' in window.text("#records tr")
