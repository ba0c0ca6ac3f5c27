"""A broker that asks for passwords and rights: who has them works, who has not is told why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from confluent_kafka.admin._acl import AclOperation
from confluent_kafka.admin._resource import ResourceType
from pydantic import SecretStr

from penstock.kafka import (
    Admin,
    AuthenticationFailedError,
    Consumer,
    DeliveryError,
    NotAuthorizedError,
    Producer,
    Start,
    create_topic,
)
from penstock.names import TopicName
from support.commands import Outcome
from support.in_process import PenstockInProcess
from support.secured import MECHANISM, SecuredKafka, User, secured_kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

WRONG = SecretStr("not-the-password")
# Long: an error that comes much sooner did not wait for it.
REQUEST_TIMEOUT_SECONDS = 20
SOON_SECONDS = 8
HINT_FOR_RIGHTS = "hint: ask for an ACL for this user, or choose another profile with `--profile`"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def penstock(
    secured: SecuredKafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PenstockInProcess]:
    """The command in a folder with a profile per user, and three that do not fit the broker."""
    folder = tmp_path_factory.mktemp("profiles")
    profiles = [profile(secured, user, f"${{env:{variable(user)}}}") for user in User]
    profiles += [
        profile(secured, User.ALICE, WRONG.get_secret_value(), name="wrong-password"),
        profile(secured, User.ALICE, "any", name="wrong-mechanism", mechanism="PLAIN"),
        f'[profiles.plaintext]\nbootstrap = "{secured.bootstrap}"\nrequest_timeout_seconds = 3\n',
    ]
    (folder / "penstock.toml").write_text("".join(profiles))
    with pytest.MonkeyPatch.context() as patch:
        for user, password in secured.passwords.items():
            patch.setenv(variable(user), password.get_secret_value())
        yield PenstockInProcess(folder, {})


@pytest.fixture(scope="module")
def topic(secured: SecuredKafka) -> TopicName:
    """A topic with one record, which only the administrator may see."""
    name = TopicName(f"hidden-{uuid4().hex}")
    with Admin(secured.connection(User.ADMIN)) as admin:
        create_topic(admin, name, partition_count=1, replication_factor=1)
    with Producer(secured.connection(User.ADMIN)) as producer:
        producer.send_and_wait(name, "secret")
    return name


def profile(
    secured: SecuredKafka,
    user: User,
    password: str,
    *,
    name: str | None = None,
    mechanism: str = MECHANISM,
) -> str:
    return (
        f"[profiles.{name or user}]\n"
        f'bootstrap = "{secured.bootstrap}"\n'
        f'security_protocol = "SASL_PLAINTEXT"\n'
        f'sasl_mechanism = "{mechanism}"\n'
        f'sasl_username = "{user}"\n'
        f'sasl_password = "{password}"\n'
        f"request_timeout_seconds = {REQUEST_TIMEOUT_SECONDS}\n"
    )


def variable(user: User) -> str:
    return f"PASSWORD_OF_{user.upper()}"


def test_a_user_with_rights_creates_writes_and_reads(
    penstock: PenstockInProcess, secured: SecuredKafka
) -> None:
    name = f"alice-{uuid4().hex}"
    operations = [AclOperation.CREATE, AclOperation.WRITE, AclOperation.READ]
    secured.allow(User.ALICE, ResourceType.TOPIC, name, operations)
    secured.allow(User.ALICE, ResourceType.GROUP, name, [AclOperation.READ])

    created = penstock("topics", "create", name, "--partitions", "1", "--profile", "alice")
    produced = penstock("produce", name, "--profile", "alice", stdin="one\n")
    consumed = penstock("consume", name, "--group", name, "--profile", "alice")
    described = penstock("groups", "describe", name, "--json", "--profile", "alice")

    assert (created.status, created.stdout) == (
        0,
        f"{name}: created, 1 partitions, replication 1\n",
    )
    (warning,) = created.stderr.splitlines()
    assert warning.startswith("warning: this is not on the trail: ")
    assert "`_penstock.audit`" in warning
    assert (produced.status, consumed.status, consumed.stdout) == (0, 0, "one\n")
    assert [group["group"] for group in described.json] == [name]


def test_reading_without_a_group_needs_no_right_to_any_group(
    penstock: PenstockInProcess, secured: SecuredKafka
) -> None:
    name = new_topic(secured, "readable")
    secured.allow(User.ALICE, ResourceType.TOPIC, name, [AclOperation.READ])

    consumed = penstock("consume", name, "--profile", "alice")
    listed = penstock("topics", "list", name, "--profile", "alice")

    assert consumed == Outcome(0, "one\n", "1 record; end reached\n")
    # Its configs are not for everybody who reads it, so the cleanup policy is not known.
    assert listed.stdout.splitlines()[1].split() == [name, "1", "1", "all", "1", "-", "-"]


def test_a_group_without_rights_is_refused_by_its_name(
    penstock: PenstockInProcess, secured: SecuredKafka
) -> None:
    name = new_topic(secured, "readable")
    secured.allow(User.ALICE, ResourceType.TOPIC, name, [AclOperation.READ])

    done = penstock("consume", name, "--group", "billing", "--profile", "alice")

    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"error[PEN-403]: `{secured.bootstrap}` refuses to let group `billing` read: "
        "FindCoordinator response error: Group authorization failed.",
        "",
        HINT_FOR_RIGHTS,
    ]


def test_a_writer_without_the_right_to_write_is_told_so(
    penstock: PenstockInProcess, secured: SecuredKafka
) -> None:
    name = new_topic(secured, "visible")
    secured.allow(User.MALLORY, ResourceType.TOPIC, name, [AclOperation.DESCRIBE])

    done = penstock("produce", name, "--profile", "mallory", stdin="one\n")

    assert (done.status, done.stdout) == (1, "")
    assert f"a record for `{name}` was not delivered: `{secured.bootstrap}` refuses" in done.stderr
    assert "uthorization failed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "act"),
    [
        (["topics", "describe", "TOPIC"], "describe topic `TOPIC`"),
        (["topics", "delete", "TOPIC", "--yes"], "show topic `TOPIC`"),
        (["topics", "create", "mallorys-own"], "create topic `mallorys-own`"),
        (["produce", "TOPIC"], "write to `TOPIC`"),
        (["consume", "TOPIC"], "read `TOPIC`"),
        (["consume", "TOPIC", "--group", "billing"], "read `TOPIC`"),
        (["groups", "describe", "billing"], "describe group `billing`"),
        (
            ["cluster", "config", "set", "num.io.threads=3", "--broker", "1", "--yes"],
            "describe the configs of broker 1",
        ),
    ],
    ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else "",
)
def test_a_user_without_rights_is_told_the_address_and_the_act(
    penstock: PenstockInProcess,
    secured: SecuredKafka,
    topic: TopicName,
    arguments: list[str],
    act: str,
) -> None:
    words = [word.replace("TOPIC", topic) for word in arguments]

    done = penstock(*words, "--profile", "mallory", stdin="one\n")
    message, gap, hint = done.stderr.splitlines()

    assert (done.status, done.stdout) == (1, "")
    told, _, reason = message.partition(f" {act.replace('TOPIC', topic)}: ")
    assert told == f"error[PEN-403]: `{secured.bootstrap}` refuses to"
    assert reason.rstrip(".").endswith("uthorization failed")
    assert (gap, hint) == ("", HINT_FOR_RIGHTS)


def test_a_user_without_rights_sees_empty_lists(penstock: PenstockInProcess) -> None:
    topics = penstock("topics", "list", "hidden-*", "--json", "--profile", "mallory")
    groups = penstock("groups", "list", "--json", "--profile", "mallory")

    assert (topics.json, groups.json) == ([], [])


def test_what_does_not_exist_is_still_told_to_those_who_may_see_all(
    penstock: PenstockInProcess,
) -> None:
    topic = penstock("topics", "delete", "nowhere", "--yes", "--profile", "admin")
    group = penstock("groups", "describe", "nobody", "--profile", "admin")

    assert topic.stderr.startswith("error[PEN-402]: topic `nowhere` does not exist")
    assert group.stderr.startswith("error[PEN-430]: group `nobody` does not exist")


@pytest.mark.parametrize("profile_name", ["wrong-password", "wrong-mechanism"])
@pytest.mark.parametrize("command", [["topics", "list"], ["produce", "any"], ["consume", "any"]])
def test_refused_credentials_are_told_long_before_a_timeout(
    penstock: PenstockInProcess, secured: SecuredKafka, command: list[str], profile_name: str
) -> None:
    started = time.monotonic()

    done = penstock(*command, "--profile", profile_name, stdin="one\n")
    message, gap, hint = done.stderr.splitlines()

    assert time.monotonic() - started < SOON_SECONDS
    assert (done.status, done.stdout, gap) == (1, "", "")
    assert message.startswith(
        f"error[PEN-404]: `{secured.bootstrap}` does not accept the credentials: "
    )
    assert WRONG.get_secret_value() not in message
    assert hint == "hint: `penstock config show` says which user, mechanism and protocol were used"


@pytest.mark.parametrize("command", [["topics", "list"], ["produce", "any"], ["consume", "any"]])
def test_a_client_without_credentials_is_told_within_the_time_of_a_request(
    penstock: PenstockInProcess, secured: SecuredKafka, command: list[str]
) -> None:
    started = time.monotonic()

    done = penstock(*command, "--profile", "plaintext", stdin="one\n")

    assert time.monotonic() - started < 3 + SOON_SECONDS
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"error[PEN-401]: no Kafka broker answered at `{secured.bootstrap}`: "
        "tried to ask for brokers and topics (no usable answer within 3 s)",
        "",
        "hint: `penstock platform status` shows the local platform; for another cluster check "
        "`--bootstrap`, `security_protocol` and the firewall",
    ]


def test_a_producer_with_a_wrong_password_tells_it_when_time_is_over(
    secured: SecuredKafka, capfd: pytest.CaptureFixture[str]
) -> None:
    connection = secured.connection(User.ALICE, password=WRONG)

    with (
        Producer(connection, delivery_timeout_seconds=6) as producer,
        pytest.raises(DeliveryError) as caught,
    ):
        producer.send_and_wait("any", "one")

    assert caught.value.message.startswith(
        f"a record for `any` was not delivered: `{secured.bootstrap}` does not accept the "
        "credentials: "
    )
    assert not caught.value.retryable
    assert capfd.readouterr() == ("", "")


def test_a_consumer_with_a_wrong_password_is_not_made(secured: SecuredKafka) -> None:
    started = time.monotonic()

    with pytest.raises(AuthenticationFailedError):
        Consumer(secured.connection(User.ALICE, password=WRONG), ["any"], start=Start.EARLIEST)

    assert time.monotonic() - started < SOON_SECONDS


def test_partitions_of_a_hidden_topic_are_refused(secured: SecuredKafka, topic: TopicName) -> None:
    with (
        Producer(secured.connection(User.MALLORY)) as producer,
        pytest.raises(NotAuthorizedError) as caught,
    ):
        producer.partitions_for(topic)

    assert caught.value.message.startswith(
        f"`{secured.bootstrap}` refuses to look up the partitions of `{topic}`: "
    )


def test_a_refusal_that_comes_while_a_producer_closes_is_no_error_of_closing(
    secured: SecuredKafka,
) -> None:
    """It comes once, to whoever serves the client then, and nothing tells that it has come."""

    def is_refused_while_closing(seconds: float) -> bool:
        producer = Producer(secured.connection(User.MALLORY))
        producer._pump.stop()  # noqa: SLF001 - nothing else lets the refusal come that late
        producer._pump.join()  # noqa: SLF001
        time.sleep(seconds)
        producer.close()
        return producer._complaints.refusal() is not None  # noqa: SLF001

    assert any(is_refused_while_closing(seconds) for seconds in (1, 5, 20))


def test_passwords_are_shown_nowhere(penstock: PenstockInProcess, secured: SecuredKafka) -> None:
    shown = penstock("config", "show", "--profile", "alice")
    as_json = penstock("config", "show", "--json", "--profile", "alice")
    log = secured.log.read_text()
    texts = [shown.stdout, shown.stderr, as_json.stdout, as_json.stderr, log]

    leaked = [
        user
        for user, password in secured.passwords.items()
        if any(password.get_secret_value() in text for text in texts)
    ]

    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("sasl_password")]
    assert line.split()[1] == "********"
    assert leaked == []


def new_topic(secured: SecuredKafka, prefix: str) -> TopicName:
    """Create a topic with one record as the administrator."""
    name = TopicName(f"{prefix}-{uuid4().hex}")
    with Admin(secured.connection(User.ADMIN)) as admin:
        create_topic(admin, name, partition_count=1, replication_factor=1)
    with Producer(secured.connection(User.ADMIN)) as producer:
        producer.send_and_wait(name, "one")
    return name
