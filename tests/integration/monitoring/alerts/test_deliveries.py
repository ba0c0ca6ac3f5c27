"""Deliveries against a real web server, a real mail server and a real topic."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from penstock.monitoring.alerts import Alert, DeliveryName, open_deliveries
from penstock.monitoring.alerts.deliveries import Message
from penstock.monitoring.alerts.errors import DeliveryFailedError
from penstock.monitoring.alerts.states import advanced
from penstock.monitoring.alerts.telling import News, Notice
from penstock.settings import (
    DeliverySettings,
    LogDelivery,
    MailDelivery,
    TopicDelivery,
    WebhookDelivery,
)
from support.alert_sinks import LOCALHOST, mailbox, webhook
from support.alerting import NOON, after, labels_of, lag_rule
from support.topic_contents import topic_contents

if TYPE_CHECKING:
    from penstock.kafka import Connection
    from penstock.monitoring.alerts import Delivery
    from penstock.names import TopicName

OPS = DeliveryName("ops")
RIGHT, WRONG = "s3cret", "wr0ng"


def alert_of(group: str) -> Alert:
    rule = lag_rule(hold_seconds=0)
    (found,) = advanced({}, [rule], {rule.name: {labels_of(group=group): 12}}, NOON).values()
    return found


def message_of(*groups: str, news: News = News.FIRING) -> Message:
    notices = [Notice(news=news, alert=alert_of(group)) for group in groups]
    return Message(cluster="kafka:9092", sent_at=after(1), notices=notices)


def opened(settings: DeliverySettings, connection: Connection) -> Delivery:
    return open_deliveries({OPS: settings}, connection)[OPS]


def test_a_webhook_gets_one_body_with_all_alerts(connection: Connection) -> None:
    with webhook() as sink:
        settings = WebhookDelivery(
            url=SecretStr(sink.url), header="X-Token", secret=SecretStr("s3cret")
        )
        delivery = opened(settings, connection)
        delivery.send(message_of("orders", "payments"))

    (body,) = sink.bodies
    assert sink.headers[0]["X-Token"] == "s3cret"
    assert body == {
        "version": 1,
        "cluster": "kafka:9092",
        "sent_at": "2026-05-01T12:00:01+00:00",
        "count": 2,
        "alerts": [
            {
                "news": "firing",
                "rule": "behind",
                "severity": "warning",
                "labels": {"group": group},
                "message": f"group `{group}` is 12 behind",
                "value": 12,
                "since": "2026-05-01T12:00:00+00:00",
                "fired_at": "2026-05-01T12:00:00+00:00",
                "resolved_at": None,
            }
            for group in ("orders", "payments")
        ],
    }
    assert delivery.where == sink.url.removesuffix("/hooks/s3cret")


@pytest.mark.parametrize("status", [302, 400, 500])
def test_a_webhook_that_answers_otherwise_has_not_taken_it(
    connection: Connection, status: int
) -> None:
    with webhook() as sink:
        sink.status = status
        with pytest.raises(DeliveryFailedError) as raised:
            opened(sink.delivery, connection).send(message_of("orders"))

    assert raised.value.reason.endswith(f"answered with status {status}")
    assert "s3cret" not in f"{raised.value} {raised.value.hint}"


def test_a_webhook_that_is_not_there_is_told_without_its_secret(connection: Connection) -> None:
    with webhook() as sink:
        delivery = opened(sink.delivery, connection)

    with pytest.raises(DeliveryFailedError) as raised:
        delivery.send(message_of("orders"))

    assert "cannot be reached" in raised.value.reason
    assert "s3cret" not in raised.value.reason


def test_a_mail_goes_to_all_recipients_and_says_it_all(connection: Connection) -> None:
    with mailbox() as box:
        opened(box.delivery, connection).send(message_of("orders\r\nBcc: x", "payments"))

    (mail,) = box.mails
    assert mail["To"] == "ops@example.org, night@example.org"
    assert mail["Subject"] == "[firing] group `orders Bcc: x` is 12 behind and 1 more"
    assert mail["Bcc"] is None
    assert mail.get_content().replace("\r\n", "\n").splitlines()[-5:] == [
        "FIRING (warning) group `payments` is 12 behind",
        "  behind, since 2026-05-01 12:00:00 UTC",
        "",
        "cluster: kafka:9092",
        "sent: 2026-05-01 12:00:01 UTC",
    ]


def test_a_login_is_made_where_there_is_one(connection: Connection) -> None:
    def login(password: str) -> MailDelivery:
        return MailDelivery(
            host=LOCALHOST,
            port=box.port,
            starttls=False,
            username="penstock",
            password=SecretStr(password),
            sender="penstock@example.org",
            recipients=("ops@example.org",),
        )

    with mailbox(RIGHT) as box:
        opened(login(RIGHT), connection).send(message_of("orders"))
        with pytest.raises(DeliveryFailedError) as raised:
            opened(login(WRONG), connection).send(message_of("orders"))

    assert (box.logins[0], set(box.logins[1:]), len(box.mails)) == (True, {False}, 1)
    assert raised.value.reason == f"`{LOCALHOST}:{box.port}` refused the login (535)"


def test_a_mail_that_is_refused_or_a_server_without_tls_is_a_failure(
    connection: Connection,
) -> None:
    with mailbox() as box:
        box.refuses = True
        reasons = []
        secure = MailDelivery(
            host=LOCALHOST, port=box.port, sender="a@example.org", recipients=("b@example.org",)
        )
        for settings in (box.delivery, secure):
            with pytest.raises(DeliveryFailedError) as raised:
                opened(settings, connection).send(message_of("orders"))
            reasons.append(raised.value.reason.partition("` ")[2] or raised.value.reason)

    assert reasons[0] == "answered with 451"
    assert "STARTTLS" in reasons[1]


def test_a_mail_that_one_of_several_refuses_is_taken_and_says_who(connection: Connection) -> None:
    with mailbox() as box:
        box.unknown.add("night@example.org")
        with pytest.raises(DeliveryFailedError) as some:
            opened(box.delivery, connection).send(message_of("orders"))
        box.unknown.add("ops@example.org")
        with pytest.raises(DeliveryFailedError) as nobody:
            opened(box.delivery, connection).send(message_of("orders"))

    place = f"`{LOCALHOST}:{box.port}`"
    assert (some.value.is_taken, nobody.value.is_taken, len(box.mails)) == (True, False, 1)
    assert some.value.reason == f"{place} refused night@example.org"
    assert nobody.value.reason == f"{place} refused night@example.org, ops@example.org"


def test_a_secret_that_cannot_be_sent_is_a_failure_and_stays_secret(connection: Connection) -> None:
    """Settings refuse such secrets; whoever makes deliveries himself is told in the same way."""
    secret = SecretStr("pässword")
    with webhook() as sink, mailbox(RIGHT) as box:
        for settings in (
            replace(sink.delivery, secret=secret),
            replace(box.delivery, username="penstock", password=secret),
        ):
            with pytest.raises(DeliveryFailedError) as raised:
                opened(settings, connection).send(message_of("orders"))
            assert "ssword" not in f"{raised.value} {raised.value.hint}"

    assert (sink.bodies, box.mails) == ([], [])


def test_a_topic_gets_a_record_for_each_alert(connection: Connection, topic: TopicName) -> None:
    delivery = opened(TopicDelivery(topic=topic), connection)
    try:
        delivery.send(message_of("orders", "payments", news=News.RESOLVED))
    finally:
        delivery.close()

    records = topic_contents(connection.bootstrap, topic)
    assert [record.key for record in records] == [b"behind", b"behind"]
    told = [json.loads(record.value or b"") for record in records]
    assert [(item["news"], item["labels"], item["cluster"]) for item in told] == [
        ("resolved", {"group": group}, "kafka:9092") for group in ("orders", "payments")
    ]


def test_the_log_gets_a_line_for_each_alert(
    connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        opened(LogDelivery(), connection).send(message_of("orders"))

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "alert firing: group `orders` is 12 behind"
