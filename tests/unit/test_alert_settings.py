"""The table `alerts` of `penstock.toml`."""

from pathlib import Path

import pytest

from penstock.settings import (
    AlertSettings,
    InvalidSettingError,
    MailDelivery,
    RuleSettings,
    SecretNotFoundError,
    TopicDelivery,
    UnknownSettingError,
    WebhookDelivery,
    load_settings,
)


def loaded(folder: Path, text: str, environ: dict[str, str] | None = None) -> AlertSettings:
    (folder / "penstock.toml").write_text(text, encoding="utf-8")
    return load_settings(start=folder, environ=environ or {}).alerts


def test_without_a_table_nothing_is_delivered_and_no_rule_is_changed(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == AlertSettings()


def test_rules_say_only_what_is_written(tmp_path: Path) -> None:
    alerts = loaded(
        tmp_path,
        """
        [[alerts.rules]]
        name = "orders-behind"
        metric = "kafka_consumergroup_group_max_lag"
        where = { group = "orders" }
        threshold = 100
        for_seconds = 30
        severity = "critical"

        [[alerts.rules]]
        name = "lag-growing"
        enabled = false
        """,
    )

    assert alerts.rules == (
        RuleSettings(
            name="orders-behind",
            metric="kafka_consumergroup_group_max_lag",
            where={"group": "orders"},
            threshold=100.0,
            for_seconds=30.0,
            severity="critical",
        ),
        RuleSettings(name="lag-growing", enabled=False),
    )


def test_deliveries_of_all_kinds_are_read(tmp_path: Path) -> None:
    alerts = loaded(
        tmp_path,
        """
        [alerts.delivery.ops]
        kind = "webhook"
        url = "https://example.org/hooks/1"
        secret = "${env:HOOK}"

        [alerts.delivery.mail]
        kind = "mail"
        host = "mail.example.org"
        sender = "penstock@example.org"
        recipients = ["ops@example.org"]

        [alerts.delivery.records]
        kind = "topic"
        topic = "alerts"

        [alerts.delivery.log]
        kind = "log"
        """,
        {"HOOK": "Bearer 1"},
    )

    hook, mail, topic = (alerts.delivery[name] for name in ("ops", "mail", "records"))
    assert isinstance(hook, WebhookDelivery)
    assert hook.secret is not None
    assert hook.secret.get_secret_value() == "Bearer 1"
    assert isinstance(mail, MailDelivery)
    assert (mail.port, mail.starttls, mail.recipients) == (587, True, ("ops@example.org",))
    assert isinstance(topic, TopicDelivery)
    assert list(alerts.delivery) == ["ops", "mail", "records", "log"]


def test_a_profile_changes_rules_and_deliveries_key_by_key(tmp_path: Path) -> None:
    alerts = loaded(
        tmp_path,
        """
        profile = "production"
        [alerts]
        repeat_seconds = 600
        [[alerts.rules]]
        name = "lag-growing"
        threshold = 3
        severity = "info"
        [alerts.delivery.mail]
        kind = "mail"
        host = "localhost"
        sender = "a@example.org"
        recipients = ["b@example.org"]
        [profiles.production.alerts]
        messages_per_minute = 2
        [[profiles.production.alerts.rules]]
        name = "lag-growing"
        severity = "critical"
        [profiles.production.alerts.delivery.mail]
        host = "mail.example.org"
        """,
    )

    mail = alerts.delivery["mail"]
    assert (alerts.repeat_seconds, alerts.messages_per_minute) == (600, 2)
    assert alerts.rules == (RuleSettings(name="lag-growing", threshold=3, severity="critical"),)
    assert isinstance(mail, MailDelivery)
    assert (mail.host, mail.sender) == ("mail.example.org", "a@example.org")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[alerts]\nrepeat_second = 60", "alerts.repeat_seconds"),
        ('[[alerts.rules]]\nname = "a"\ntreshold = 1', "alerts.rules.a.threshold"),
        ('[alerts.delivery.ops]\nkind = "log"\nkid = 1', "alerts.delivery.ops.kind"),
        ("[alerst]\nrepeat_seconds = 60", "alerts"),
        ("[profiles.local.alert]\nrepeat_seconds = 60", "profiles.local.alerts"),
    ],
)
def test_a_slip_names_the_nearest_key(tmp_path: Path, text: str, meant: str) -> None:
    with pytest.raises(UnknownSettingError) as raised:
        loaded(tmp_path, text)

    assert raised.value.hint == f"did you mean `{meant}`?"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("[alerts]\nrepeat_seconds = 1", ["alerts.repeat_seconds"]),
        ('[alerts]\nrepeat_seconds = "1h"', ["alerts.repeat_seconds"]),
        ("[alerts]\nrules = 3", ["alerts.rules"]),
        ("[[alerts.rules]]\nthreshold = 3", ["alerts.rules[0].name"]),
        (
            '[[alerts.rules]]\nname = "a"\nthreshold = nan\nseverity = "bad"',
            ["alerts.rules.a.threshold", "alerts.rules.a.severity"],
        ),
        ("[alerts.delivery]\nops = 3", ["alerts.delivery"]),
        ('[alerts.delivery.ops]\nkind = "pager"', ["alerts.delivery.ops.kind"]),
        ('[alerts.delivery.ops]\nkind = "webhook"', ["alerts.delivery.ops.url"]),
        (
            '[alerts.delivery.ops]\nkind = "webhook"\nurl = "ftp://example.org"',
            ["alerts.delivery.ops.url"],
        ),
        (
            '[alerts.delivery.m]\nkind = "mail"\nhost = "h"\nsender = "me"\nrecipients = []',
            ["alerts.delivery.m.sender", "alerts.delivery.m.recipients"],
        ),
        (
            '[alerts.delivery.ops]\nkind = "webhook"\nurl = "https://h"\nsecret = "pässword"',
            ["alerts.delivery.ops.secret"],
        ),
        (
            '[alerts.delivery.m]\nkind = "mail"\nhost = "h"\nsender = "a@h"\n'
            'recipients = ["b@h"]\nusername = "Jürgen"\npassword = "pässword"',
            ["alerts.delivery.m.username", "alerts.delivery.m.password"],
        ),
    ],
)
def test_values_that_cannot_be_are_named(tmp_path: Path, text: str, keys: list[str]) -> None:
    with pytest.raises(InvalidSettingError) as raised:
        loaded(tmp_path, text)

    assert [problem.key for problem in raised.value.problems] == keys
    assert "pässword" not in raised.value.message


def test_a_reference_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    with pytest.raises(SecretNotFoundError) as raised:
        loaded(tmp_path, '[alerts.delivery.ops]\nkind = "webhook"\nurl = "${env:NOWHERE}"')

    assert raised.value.key == "alerts.delivery.ops.url"


def test_secrets_of_deliveries_are_not_shown(tmp_path: Path) -> None:
    text = """
        [[alerts.rules]]
        name = "lag-growing"
        threshold = 3
        [alerts.delivery.ops]
        kind = "webhook"
        url = "https://example.org/hooks/T0P"
        secret = "T0P"
    """
    (tmp_path / "penstock.toml").write_text(text, encoding="utf-8")

    settings = load_settings(start=tmp_path, environ={})

    shown = {item.key: item.value for item in settings.resolved if item.key.startswith("alerts.")}
    assert shown == {
        "alerts.rules.lag-growing.threshold": 3.0,
        "alerts.delivery.ops.kind": "webhook",
        "alerts.delivery.ops.url": "********",
        "alerts.delivery.ops.header": "Authorization",
        "alerts.delivery.ops.secret": "********",
    }
    assert "T0P" not in repr(settings)
