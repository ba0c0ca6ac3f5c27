"""Every address of the console and every role: who is let in, and who is not."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

import pytest

from penstock.console.access import Guard, Role, load_users, token_line, user_line
from penstock.console.app import MENU, routes, table
from penstock.console.frame.answering import Answering
from penstock.console.frame.rendering import Renderer, environment
from penstock.names import PipelineName
from support.consoles import proof_in, running_console
from support.published_pipelines import published_pipeline
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from penstock.local.cluster import KafkaCluster

ANYBODY = {
    ("GET", "/health"),
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/logout"),
    ("GET", "/static/{version}/{name}"),
}
"""What is answered before anybody has logged in; `test_frame.py` shows what it tells."""

NEEDED = {
    "viewer": {"test_schema"},
    "operator": {
        *("pause_flow", "resume_flow", "stop_flow", "restart_flow"),
        *("pause_pipeline", "resume_pipeline", "stop_pipeline", "restart_pipeline"),
        *("set_log_level", "produce_record", "produce_again", "reset_group"),
        *("silence_alerts", "end_silence"),
    },
    "admin": {
        *("create_topic", "alter_topic", "add_partitions", "purge_topic", "delete_topic"),
        *("register_schema", "create_subject", "set_level", "delete_version"),
        *("alter_broker", "alter_all_brokers", "delete_group"),
    },
}
"""The role that each action needs. All that only shows something is for viewers."""


class Address(NamedTuple):
    """A method at a path, and the role that it needs."""

    method: str
    path: str
    role: Role


def addresses() -> list[Address]:
    known = table()
    return [
        Address("GET", "/openapi.json", Role.VIEWER),
        *(Address("GET", page.path, page.role) for page in known.pages),
        *(Address("GET", action.path, action.role) for action in known.actions),
        *(Address("POST", action.path, action.role) for action in known.actions),
        *(Address(item.method, item.path, item.role) for item in known.endpoints),
    ]


@pytest.fixture(scope="module")
def guarded(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[TestClient, dict[Role, str]]]:
    """A console with users, and a token for each role."""
    folder = tmp_path_factory.mktemp("guarded")
    made = {role: token_line(role.word, role) for role in Role}
    lines = [user_line("alice", Role.ADMIN, "secret"), *(line for _, line in made.values())]
    (folder / "users").write_text("".join(f"{line}\n" for line in lines))
    users = load_users(folder / "users")
    with running_console(kafka.connection, folder, users=users) as client:
        yield client, {role: token for role, (token, _) in made.items()}


def outcome(client: TestClient, address: Address, token: str | None) -> tuple[int, str]:
    """Return how a request is answered: the status, and the code of an error."""
    headers = {"Accept": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    path = re.sub(r"{[^}]*}", "nothing", address.path)
    # Nothing is sent along and nothing is called `nothing`: whoever is let in changes nothing.
    with client.stream(address.method, path, headers=headers) as answer:
        if not answer.headers["content-type"].startswith("application/json"):
            return answer.status_code, ""
        told = (answer.read(), answer.json())[1]
    return answer.status_code, told.get("code", "") if isinstance(told, dict) else ""


def test_nothing_is_answered_but_what_the_table_has() -> None:
    known = table()
    answering = Answering(
        world=None,  # type: ignore[arg-type]  # nobody asks
        guard=Guard(None, secure=False),
        renderer=Renderer(environment()),
        menu=MENU,
    )
    answered = [
        (method, route.path)
        for route in routes(known, answering)
        for method in (route.methods or set()) - {"HEAD"}
    ]

    declared = [(address.method, address.path) for address in addresses()]
    assert sorted(answered) == sorted([*declared, *ANYBODY])


def test_each_action_needs_the_role_that_the_documentation_says() -> None:
    known = table()

    found: dict[str, set[str]] = {role.word: set() for role in Role}
    for action in known.actions:
        found[action.role.word].add(action.name)

    assert found == NEEDED
    shown = {page.role for page in known.pages} | {item.role for item in known.endpoints}
    assert shown == {Role.VIEWER}
    assert [item.name for item in known.endpoints if item.changes_something] == []


@pytest.mark.parametrize("role", [None, *Role], ids=lambda role: role.word if role else "nobody")
def test_each_address_lets_in_those_who_may(
    guarded: tuple[TestClient, dict[Role, str]], role: Role | None
) -> None:
    client, tokens = guarded
    token = None if role is None else tokens[role]

    found = {address: outcome(client, address, token) for address in addresses()}

    strangers = dict.fromkeys(found, (401, "PEN-776"))
    refused = {item: (403, "PEN-775") for item in found if role is not None and role < item.role}
    expected = strangers if role is None else refused
    assert {item: told for item, told in found.items() if told[0] in (401, 403)} == expected


def test_viewers_do_not_browse_the_topics_in_which_drivers_tell_of_themselves(
    guarded: tuple[TestClient, dict[Role, str]],
) -> None:
    """What a driver says of a failure may quote a record; see the last test."""
    client, tokens = guarded
    known = table()
    shown = [*(page.path for page in known.pages), *(item.path for item in known.endpoints)]
    paths = [path for path in shown if path.startswith("/topics/{topic}/records")]
    places = {"topic": "_penstock.status", "partition": "0", "offset": "0"}

    found = {
        (role, path): outcome(client, Address("GET", path.format(**places), role), tokens[role])
        for role in Role
        for path in paths
    }

    assert len(paths) == 5
    assert {at for at, told in found.items() if told == (403, "PEN-775")} == {
        (Role.VIEWER, path) for path in paths
    }


def test_viewers_do_not_read_the_names_of_failed_logins(
    guarded: tuple[TestClient, dict[Role, str]],
) -> None:
    """People type their passwords there."""
    client, tokens = guarded
    client.cookies.clear()
    name = uuid4().hex
    entered = {"name": name, "password": "-", "_proof": proof_in(client.get("/login").text)}
    assert client.post("/login", data=entered).status_code == 401
    client.cookies.clear()

    def trail(role: Role, query: str) -> str:
        headers = {"Authorization": f"Bearer {tokens[role]}", "Accept": "application/json"}
        return str(client.get(f"/trail?{query}", headers=headers).text)

    eventually(lambda: name in trail(Role.OPERATOR, "action=log_in"), within_seconds=30)
    entries = json.loads(trail(Role.VIEWER, "action=log_in&outcome=refused"))["entries"]
    assert {entry["who"] for entry in entries} == {"(somebody)"}
    assert json.loads(trail(Role.VIEWER, f"who={name}"))["entries"] == []


def test_an_admin_who_is_logged_in_does_nothing_without_a_proof_of_intent(
    guarded: tuple[TestClient, dict[Role, str]],
) -> None:
    """A browser sends the cookie along with whatever another site makes it send."""
    client, _ = guarded
    entered = {"name": "alice", "password": "secret", "next": "/"}
    entered |= {"_proof": proof_in(client.get("/login").text)}
    assert client.post("/login", data=entered).status_code == 303
    known = table()
    paths = [action.path for action in known.actions]
    paths += [item.path for item in known.endpoints if item.changes_something]

    found = {path: outcome(client, Address("POST", path, Role.ADMIN), None) for path in paths}

    assert found == dict.fromkeys(found, (403, "PEN-777"))


def test_viewers_read_the_code_of_a_failure_and_operators_its_sentence(
    guarded: tuple[TestClient, dict[Role, str]], kafka: KafkaCluster
) -> None:
    """A sentence may quote the record that it is about; no page shows it, and no twin."""
    client, tokens = guarded
    client.cookies.clear()
    name = PipelineName(f"shop-{uuid4().hex[:8]}")
    output = kafka.create_topic(f"{name}-cleaned", partition_count=1)
    place = f"/pipelines/{name}"
    sentence, code = "a broker hiccuped", "PEN-999"

    def read(role: Role, path: str, kind: str) -> str:
        headers = {"Authorization": f"Bearer {tokens[role]}", "Accept": kind}
        return str(client.get(path, headers=headers).text)

    with published_pipeline(kafka.connection, name, output) as published:
        flow = f"{place}/flows/{published.flow}"
        eventually(lambda: code in read(Role.VIEWER, flow, "text/html"), within_seconds=30)
        found = {
            (role, path, kind): read(role, path, kind)
            for role in Role
            for path in ("/", "/pipelines", place, flow)
            for kind in ("text/html", "application/json")
        }

    told = {asked for asked, text in found.items() if sentence in text}
    assert {role for role, _, _ in told} == {Role.OPERATOR, Role.ADMIN}
    assert (Role.OPERATOR, flow, "text/html") in told
    assert code in found[Role.VIEWER, flow, "application/json"]
