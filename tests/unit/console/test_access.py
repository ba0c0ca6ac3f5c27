"""Who may use the console: the file of users, sessions, attempts, proofs of intent."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from pathlib import Path
from threading import Event
from typing import cast

import pytest
from starlette.responses import Response

from penstock.console.access import Guard, Role, Users, Visitor, load_users, token_line, user_line
from penstock.console.access.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    Attempts,
    Intents,
    Sessions,
)
from penstock.console.access.users import User
from penstock.console.errors import ConsoleUsersError

ALICE = User(name="alice", role=Role.OPERATOR)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> tuple[Users, str]:
    token, line = token_line("grafana", Role.VIEWER)
    path = tmp_path_factory.mktemp("users") / "users"
    path.write_text(f"# people\n{user_line('alice', Role.OPERATOR, 'right:one')}\n\n{line}\n")
    return load_users(path), token


def test_a_password_belongs_to_its_name_and_gives_its_role(users: tuple[Users, str]) -> None:
    known, _ = users

    assert known.of_password("alice", "right:one") == ALICE
    assert known.of_password("alice", "wrong") is None
    assert known.of_password("bob", "right:one") is None


def test_a_token_is_a_program_with_its_role(users: tuple[Users, str]) -> None:
    known, token = users

    assert known.of_token(token) == User(name="grafana", role=Role.VIEWER)
    assert known.of_token(token + "x") is None
    assert known.of_password("grafana", token) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it names no user"),
        ("alice", "it is neither"),
        ("alice:king:scrypt:1:1:1:00:00", "`king` is not a role: viewer, operator, admin"),
        ("alice:admin:secret", "it is not `scrypt:"),
        ("alice:admin:scrypt:3:8:1:00:00", "n"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "users"
    path.write_text(text)

    with pytest.raises(ConsoleUsersError) as refused:
        load_users(path)

    assert reason in refused.value.message


def test_a_session_ends_when_it_is_not_used() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    secret = sessions.open(ALICE)

    clock.now += IDLE_SECONDS - 1
    sessions.note_use(secret)
    clock.now += IDLE_SECONDS - 1
    assert sessions.user_of(secret) == ALICE
    clock.now += 2  # that somebody was asked for is no use
    assert sessions.user_of(secret) is None
    assert sessions.user_of("") is None


def test_a_session_ends_after_a_day_however_much_it_is_used() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    secret, begun = sessions.open(ALICE), clock.now

    while clock.now < begun + LONGEST_SECONDS:
        assert sessions.user_of(secret) == ALICE
        sessions.note_use(secret)
        clock.now += 3600
    clock.now += 1

    assert sessions.user_of(secret) is None


def test_a_closed_session_is_over() -> None:
    sessions = Sessions()
    secret = sessions.open(ALICE)

    sessions.close(secret)

    assert sessions.user_of(secret) is None


def test_after_five_failures_a_minute_has_to_pass() -> None:
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(5):
        assert attempts.begin("address 1", "name alice") == 0
        clock.now += 1

    assert attempts.begin("address 2", "name alice") == pytest.approx(55)
    assert attempts.begin("address 1", "name bob") == pytest.approx(55)
    assert attempts.begin("address 2", "name bob") == 0
    clock.now += 56
    assert attempts.begin("address 1", "name alice") == 0


def test_attempts_that_succeed_are_not_counted() -> None:
    attempts = Attempts()
    for _ in range(20):
        assert attempts.begin("address 1", "name alice") == 0
        attempts.forgive("address 1", "name alice")


class SlowUsers:
    """Users whose passwords are looked at when the test lets it happen."""

    def __init__(self) -> None:
        self.may_look, self.looked_at = Event(), list[str]()

    def of_password(self, _name: str, password: str) -> None:
        self.looked_at.append(password)
        assert self.may_look.wait(30)


def test_attempts_at_once_are_no_more_than_one_after_the_other() -> None:
    """Sixteen passwords are sent before the first has been looked at."""
    users = SlowUsers()
    guard = Guard(cast("Users", users), secure=False)
    visitor = Visitor(user=None, address="10.0.0.7", cookie="c")
    with ThreadPoolExecutor(16) as pool:
        tries = [pool.submit(guard.log_in, visitor, "alice", str(n)) for n in range(16)]
        try:
            waits = [
                done.result().wait_seconds for done in islice(as_completed(tries, timeout=30), 11)
            ]
        finally:
            users.may_look.set()

    assert len(users.looked_at) == 5
    assert all(wait > 50 for wait in waits)


@pytest.mark.parametrize("secure", [True, False])
def test_cookies_are_out_of_reach_for_scripts_other_sites_and_plain_http(*, secure: bool) -> None:
    response = Response()

    Guard(None, secure=secure).set_cookie(response, "value")

    name, *attributes = response.headers["set-cookie"].split("; ")
    assert name == "penstock_session=value"
    expected = {"HttpOnly", "Max-Age=86400", "Path=/", "SameSite=Lax"}
    assert set(attributes) == (expected | {"Secure"} if secure else expected)


def test_a_proof_belongs_to_one_cookie_of_one_console() -> None:
    intents = Intents()

    assert intents.is_proved("cookie", intents.proof("cookie"))
    assert not intents.is_proved("other", intents.proof("cookie"))
    assert not intents.is_proved("", intents.proof(""))
    assert not intents.is_proved("cookie", "ä")
    assert not intents.is_proved("cookie", "\ud800")
    assert not Intents().is_proved("cookie", intents.proof("cookie"))
