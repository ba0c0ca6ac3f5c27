"""The console's frame over a real cluster: answers, access, intent, live parts, the trail."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from penstock.console.access import Role, load_users, token_line, user_line
from penstock.console.access.sessions import IDLE_SECONDS
from penstock.console.app import table
from penstock.console.frame import Action, Question
from penstock.console.frame.actions import NoFields
from penstock.control.trail import Trail
from penstock.kafka import Connection
from support.consoles import ADDRESS, proof_in, running_console
from support.terminal import line_on, understood
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.testclient import TestClient

    from penstock.console.access import Users
    from penstock.console.frame import Ask
    from penstock.control.trail import TrailEntry
    from penstock.local.cluster import KafkaCluster

JSON = {"Accept": "application/json"}


@pytest.fixture(scope="module")
def console(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_console(kafka.connection, tmp_path_factory.mktemp("console")) as client:
        yield client


class Clock:
    """By which sessions end, and attempts are forgotten."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def users_in(folder: Path, *lines: str) -> Users:
    (folder / "users").write_text("".join(f"{line}\n" for line in lines))
    return load_users(folder / "users")


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def guarded(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory, clock: Clock
) -> Iterator[tuple[TestClient, str]]:
    folder = tmp_path_factory.mktemp("guarded")
    token, line = token_line("grafana", Role.VIEWER)
    users = users_in(folder, user_line("alice", Role.OPERATOR, "secret"), line)
    with running_console(kafka.connection, folder, users=users, clock=clock) as client:
        yield client, token


def test_the_home_page_says_how_the_cluster_is(console: TestClient) -> None:
    page = console.get("/")
    twin = console.get("/", headers=JSON).json()

    assert page.status_code == 200
    assert "Under-replicated" in page.text
    assert twin["cluster"]["brokers"] == 1
    assert twin["cluster"]["offline"] == 0
    assert 0 < twin["cluster"]["disk_used"] < 1


def test_every_page_says_what_to_enter_in_a_terminal(console: TestClient) -> None:
    """A command of ours that exists, or how to ask for the JSON twin."""
    lines = {}
    for page in table().pages:
        answer = console.get(page.path) if "{" not in page.path else None
        if answer is not None and answer.status_code == 200:  # schemas need a registry
            lines[page.name] = line_on(answer.text)

    assert len(lines) > 8
    assert [name for name, line in lines.items() if not line] == []
    ours = [line for line in lines.values() if line and not line.startswith("curl ")]
    assert all(understood(line) for line in ours)


def test_partitions_are_described_by_a_command_while_their_topics_are_few(
    console: TestClient, kafka: KafkaCluster
) -> None:
    stem = f"few{uuid4().hex[:8]}"
    names = [kafka.create_topic(f"{stem}-{number:02}", partition_count=2) for number in range(11)]

    def line(query: str) -> str:
        return line_on(console.get(f"/cluster/partitions?{query}").text) or ""

    def all_are_listed() -> bool:
        page = console.get(f"/cluster/partitions?q={stem}", headers=JSON).json()
        return bool(page["partitions"]["total"] == 22)

    eventually(all_are_listed, within_seconds=30)
    assert understood(line(f"q={stem}&size=4"))["names"] == tuple(names[:2])
    many = f"q={stem}&size=500"
    twin = f"{ADDRESS}/cluster/partitions?{many}"
    assert line(many) == f"curl -H 'Accept: application/json' '{twin}'"


def test_every_answer_keeps_strange_scripts_out(console: TestClient) -> None:
    for path in ("/", "/nowhere", "/health", "/static/x/console.js"):
        headers = console.get(path).headers

        assert headers["content-security-policy"] == (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ), path
        assert headers["x-content-type-options"] == "nosniff"


def test_what_is_not_there_is_told_with_code_and_hint(console: TestClient) -> None:
    twin = console.get("/nowhere", headers=JSON)

    assert twin.status_code == 404
    assert twin.json() == {
        "code": "PEN-774",
        "message": "there is no page `/nowhere`",
        "hint": "`/` is where all pages begin",
    }
    hostile = console.get("/<script>alert(1)</script>")
    assert hostile.status_code == 404
    assert "<script>alert" not in hostile.text
    assert "&lt;script&gt;alert(1)" in hostile.text


def test_without_users_it_answers_to_this_machine_only(console: TestClient) -> None:
    strange = console.get("/", headers={**JSON, "Host": "rebound.example:8090"})

    assert strange.status_code == 421
    assert strange.json()["code"] == "PEN-779"
    assert console.get("/", headers={"Host": "localhost:8090"}).status_code == 200


def raw(**headers: str) -> dict[bytes, bytes]:
    """Return headers that hold what no client would send."""
    sent = {"accept": "application/json", **headers}
    return {name.encode(): value.encode("latin-1") for name, value in sent.items()}


@pytest.mark.parametrize("host", ["[", "[::1", "127.0.0.1]:1"])
def test_what_is_no_name_of_a_host_is_refused(
    console: TestClient, guarded: tuple[TestClient, str], host: str
) -> None:
    for client in (console, guarded[0]):
        for path in ("/", "/login", "/live?url=/"):
            answer = client.get(path, headers=raw(host=host))
            assert (answer.status_code, answer.json()["code"]) == (421, "PEN-779"), path
            assert client.get(path, headers=raw(host=host, accept="text/html")).status_code == 421


def test_an_unknown_name_is_told_nothing_of_the_cluster(console: TestClient) -> None:
    page = console.get("/", headers={"Host": "rebound.example"})

    assert page.status_code == 421
    assert "Topics" not in page.text
    told = console.get("/health", headers={"Host": "rebound.example"}).json()
    assert set(told) == {"ok", "state"}


def test_what_is_no_address_of_a_page_is_not_followed(console: TestClient) -> None:
    answer = console.get("/live?url=//[", headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (404, "PEN-774")


def _first_parts(console: TestClient, url: str) -> dict[str, str]:
    with console.stream("GET", f"/live?url={url}") as events:
        lines = iter(events.iter_lines())
        data = next(line for line in lines if line.startswith("data: "))
    parts: dict[str, str] = json.loads(data.removeprefix("data: "))
    return parts


def test_live_parts_are_sent_when_the_world_was_looked_at(console: TestClient) -> None:
    eventually(lambda: console.get("/health").json()["state"] == "ok", within_seconds=30)
    parts = _first_parts(console, "/")

    assert set(parts) == {
        *("health", "figures", "alerts", "pipelines", "cluster"),
        *("faults", "freshness"),
    }
    assert parts["faults"].strip() == ""
    assert parts["freshness"].strip().startswith("live, as of ")


def test_a_page_that_stays_as_it_is_tells_whether_its_figures_are_up_to_date(
    console: TestClient,
) -> None:
    assert set(_first_parts(console, "/cluster/configs")) == {"faults", "freshness"}


@pytest.mark.parametrize("url", ["/pipelines/none", "/ledger/none"])
def test_a_page_that_can_not_be_loaded_again_says_so_and_goes_on(
    console: TestClient, url: str
) -> None:
    parts = _first_parts(console, url)

    assert set(parts) == {"faults", "freshness"}
    assert "none" in parts["faults"]


def test_with_users_nobody_comes_in_unknown(guarded: tuple[TestClient, str]) -> None:
    client, _ = guarded
    client.cookies.clear()

    page, twin = client.get("/?q=1"), client.get("/", headers=JSON)

    assert (page.status_code, page.headers["location"]) == (303, "/login?next=%2F%3Fq%3D1")
    assert (twin.status_code, twin.json()["code"]) == (401, "PEN-776")
    assert client.get("/openapi.json", headers=JSON).status_code == 401
    assert client.get("/live?url=/", headers=JSON).status_code == 401


def test_strangers_are_told_whether_there_is_trouble_and_not_which(
    guarded: tuple[TestClient, str], tmp_path: Path
) -> None:
    """No broker answers, and a stranger shall not learn where they are."""
    client, token = guarded
    client.cookies.clear()
    known = {**JSON, "Authorization": f"Bearer {token}"}
    eventually(lambda: client.get("/health").json()["state"] == "ok", within_seconds=30)
    assert client.get("/health").json() == {"ok": True, "state": "ok"}
    assert client.get("/health", headers=known).json() == {"ok": True, "state": "ok", "faults": []}
    away = Connection(bootstrap="127.0.0.1:1")
    users = users_in(tmp_path, user_line("alice", Role.OPERATOR, "secret"))

    with running_console(away, tmp_path, users=users, is_there=False) as client:
        eventually(lambda: client.get("/health").json()["state"] == "trouble", within_seconds=30)
        told, page = client.get("/health").json(), client.get("/login").text
        assert _log_in(client, "secret")[0] == 303
        inside, home = client.get("/health").json(), client.get("/").text

    assert told == {"ok": True, "state": "trouble"}
    assert "out of date" not in page
    assert inside["faults"]
    assert "Figures may be out of date" in home


def test_a_program_comes_in_with_its_token(guarded: tuple[TestClient, str]) -> None:
    client, token = guarded
    client.cookies.clear()

    def status(text: str) -> int:
        return client.get("/", headers={**JSON, "Authorization": text}).status_code

    assert status(f"Bearer {token}") == 200
    assert status(f"Bearer {token}x") == 401
    assert status(f"Basic {token}") == 401


def _log_in(client: TestClient, password: str, after: str = "/") -> tuple[int, str, str]:
    client.cookies.clear()
    form = client.get("/login")
    entered = {"name": "alice", "password": password, "next": after, "_proof": proof_in(form.text)}
    answer = client.post("/login", data=entered)
    return answer.status_code, answer.headers.get("location", ""), answer.text


def test_a_person_logs_in_and_out(guarded: tuple[TestClient, str]) -> None:
    client, _ = guarded

    assert _log_in(client, "wrong")[0] == 401
    assert _log_in(client, "secret", after="/?sort=name")[:2] == (303, "/?sort=name")
    page = client.get("/")
    assert "alice, operator" in page.text
    cookie = client.cookies.get("penstock_session") or ""
    assert client.post("/logout", data={"_proof": "made up"}, headers=JSON).status_code == 403
    assert client.post("/logout", data={"_proof": proof_in(page.text)}).status_code == 303
    client.cookies.set("penstock_session", cookie)
    assert client.get("/", headers=JSON).status_code == 401


@pytest.mark.parametrize("after", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_a_login_does_not_lead_elsewhere(guarded: tuple[TestClient, str], after: str) -> None:
    assert _log_in(guarded[0], "secret", after=after)[:2] == (303, "/")


def test_a_form_of_another_site_is_refused(guarded: tuple[TestClient, str]) -> None:
    client, _ = guarded
    client.cookies.clear()
    entered = {"name": "alice", "password": "secret", "_proof": proof_in(client.get("/login").text)}
    elsewhere = {**JSON, "Origin": "https://evil.example"}

    assert client.post("/login", data=entered, headers=elsewhere).json()["code"] == "PEN-777"
    del entered["_proof"]
    assert client.post("/login", data=entered, headers=JSON).json()["code"] == "PEN-777"


def test_the_description_is_openapi(console: TestClient) -> None:
    told = console.get("/openapi.json").json()

    assert told["openapi"] == "3.1.0"
    assert told["paths"]["/"]["get"]["operationId"] == "show_home"


def test_a_password_for_a_proxy_on_the_way_is_no_token(guarded: tuple[TestClient, str]) -> None:
    """Browsers send it with every request, and the proxy may hand it on."""
    client, token = guarded
    client.cookies.clear()
    assert client.get("/", headers=JSON, auth=("proxy", "password")).status_code == 401
    assert client.get("/", headers=JSON, auth=("proxy", token)).status_code == 200
    assert _log_in(client, "secret")[0] == 303

    assert client.get("/", headers=JSON, auth=("proxy", "password")).status_code == 200


@pytest.mark.parametrize("proof", ["ä", "\udcff", ""])
def test_a_proof_may_be_any_text(guarded: tuple[TestClient, str], proof: str) -> None:
    client, _ = guarded
    client.cookies.clear()
    client.get("/login")
    sent = proof.encode(errors="surrogatepass")

    answer = client.post("/login", data={"name": "alice", "_proof": sent}, headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (403, "PEN-777")
    assert _log_in(client, "secret")[0] == 303
    as_json = json.dumps({"_proof": proof})
    headers = {**JSON, "Content-Type": "application/json"}
    for answer in (
        client.post("/alerts/silence", data={"_proof": sent}, headers=JSON),
        client.post("/alerts/silence", content=as_json, headers=headers),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "PEN-777")


@pytest.mark.parametrize("origin", ["[", "http://[", "ä", "http://127.0.0.1:8090/", "x://"])
def test_an_origin_may_be_any_text(console: TestClient, origin: str) -> None:
    answer = console.post("/alerts/silence", json={}, headers=raw(origin=origin))

    assert (answer.status_code, answer.json()["code"]) == (403, "PEN-777")


def test_bodies_are_read_up_to_a_limit(
    console: TestClient, guarded: tuple[TestClient, str]
) -> None:
    sent = 0

    def endless(count: int) -> Iterator[bytes]:
        nonlocal sent
        for _ in range(count):
            sent += 1
            yield b"x" * 1_000

    form = {**JSON, "Content-Type": "application/x-www-form-urlencoded"}
    login = guarded[0].post("/login", content=endless(20), headers=form)
    out = guarded[0].post("/logout", content=endless(20), headers=form)
    action = console.post("/alerts/silence", content=b"x" * (12 * 1024**2 + 1), headers=form)

    for answer in (login, out, action):
        assert (answer.status_code, answer.json()["code"]) == (413, "PEN-783")


def test_too_many_attempts_have_to_wait(guarded: tuple[TestClient, str], clock: Clock) -> None:
    client, _ = guarded
    clock.now += 60

    statuses = [_log_in(client, "wrong")[0] for _ in range(5)]
    status, _, page = _log_in(client, "secret")
    clock.now += 61

    assert statuses == [401] * 5
    assert status == 429
    assert "too many attempts; try again in 60 s" in page
    assert _log_in(client, "secret")[0] == 303


def test_a_page_that_stays_up_to_date_keeps_no_session(
    guarded: tuple[TestClient, str], clock: Clock
) -> None:
    client, _ = guarded
    clock.now += 60
    assert _log_in(client, "secret")[0] == 303

    def look() -> int:
        return int(client.get("/", headers=JSON).status_code)

    def follow() -> int:
        with client.stream("GET", "/live?url=/") as events:
            if events.status_code == 200:
                next(line for line in events.iter_lines() if line.startswith("data: "))
        return int(events.status_code)

    clock.now += IDLE_SECONDS - 60
    assert look() == 200
    clock.now += IDLE_SECONDS - 60
    assert follow() == 200
    clock.now += 120
    assert follow() in (303, 401)
    assert look() == 401


def _newest(kafka: KafkaCluster, action: str, count: int = 1) -> list[TrailEntry]:
    trail = Trail(kafka.connection)
    return list(trail.page(count, wanted=lambda entry: entry.action == action).entries)


def test_logins_are_on_the_trail_and_so_are_those_that_fail(
    guarded: tuple[TestClient, str], kafka: KafkaCluster, clock: Clock
) -> None:
    client, _ = guarded
    clock.now += 60

    _log_in(client, "secret")
    _log_in(client, "wrong")
    client.cookies.clear()
    proof = proof_in(client.get("/login").text)
    strange = {"name": "<b>" + "x" * 5_000, "password": "hunter2", "_proof": proof}
    client.post("/login", data=strange)
    for _ in range(10):
        _log_in(client, "wrong")

    clock.now += 61

    entries = _newest(kafka, "log_in", 6)
    assert [(entry.who, entry.role, entry.done) for entry in entries] == [
        *[("alice", None, None)] * 3,  # the other seven had to wait
        ("<b>" + "x" * 97, None, None),
        ("alice", None, None),
        ("alice", "operator", "logged in"),
    ]
    assert {(entry.address, entry.target) for entry in entries} == {("testclient", "console")}
    assert entries[0].refused == "name and password do not belong together"


def test_who_may_not_look_is_on_the_trail_too(
    guarded: tuple[TestClient, str], kafka: KafkaCluster
) -> None:
    client, token = guarded
    client.cookies.clear()
    headers = {**JSON, "Authorization": f"Bearer {token}"}

    statuses = {client.get("/create/topic", headers=headers).status_code for _ in range(8)}

    assert statuses == {403}
    entries = _newest(kafka, "create_topic", 8)
    mine = [entry for entry in entries if entry.who == "grafana"]
    assert len(mine) == 5  # and not eight: nobody fills the trail by asking
    assert mine[0].refused == "`grafana` is a viewer, and this needs an admin"


def test_a_form_of_another_site_is_on_the_trail(console: TestClient, kafka: KafkaCluster) -> None:
    elsewhere = {**JSON, "Origin": "https://evil.example"}

    assert console.post("/delete/group/g", data={}, headers=elsewhere).status_code == 403

    (entry,) = _newest(kafka, "delete_group")
    assert (entry.who, entry.address, entry.target) == ("local", "testclient", "group g")
    assert entry.refused is not None
    assert entry.refused.startswith("the form was not made by this console")


def test_what_breaks_halfway_is_on_the_trail(kafka: KafkaCluster, tmp_path: Path) -> None:
    """An action deletes half of something, and then meets what nobody foresaw."""
    broken: list[str] = []

    def perform(_ask: Ask, _form: NoFields) -> str:
        broken.append("vase")
        raise ZeroDivisionError

    action = Action(
        path="/break",
        name="break_vase",
        summary="Break a vase.",
        form=NoFields,
        question=lambda _ask, _form: Question(sentence="Break it?", button="Break"),
        perform=perform,
        target=lambda _ask: "the vase",
        back=lambda _ask: "/",
        command=None,
        title="Break",
        role=Role.ADMIN,
    )
    known = replace(table(), actions=(action,))

    with (
        running_console(kafka.connection, tmp_path, known=known) as client,
        pytest.raises(ZeroDivisionError),
    ):
        client.post("/break", json={}, headers=JSON)

    assert broken == ["vase"]
    (entry,) = _newest(kafka, "break_vase")
    assert (entry.who, entry.target, entry.done) == ("local", "the vase", None)
    assert entry.refused == "unexpected fault, maybe halfway: ZeroDivisionError"


def test_an_attempt_beyond_the_role_is_refused_and_on_the_trail(
    guarded: tuple[TestClient, str], kafka: KafkaCluster
) -> None:
    client, token = guarded
    client.cookies.clear()
    headers = {**JSON, "Authorization": f"Bearer {token}"}

    answer = client.post("/schemas/level/x", json={"level": "NONE"}, headers=headers)

    assert (answer.status_code, answer.json()["code"]) == (403, "PEN-775")
    [entry] = Trail(kafka.connection).last(1)
    assert (entry.who, entry.role, entry.action) == ("grafana", "viewer", "set_level")
    assert entry.refused == "`grafana` is a viewer, and this needs an admin"
