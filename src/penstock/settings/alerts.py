"""The table `alerts`: rules, how often to tell, and where to; that of a profile wins.

Here it is only known how such a table is written. Which metrics and ready-made rules there are is
known in `monitoring/alerts/`, and checked there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
)

from penstock.names import TopicName
from penstock.settings.errors import InvalidSettingError, InvalidValue, UnknownSettingError

Parsed = TypeVar("Parsed")

_NAME = r"^[a-z0-9][a-z0-9-]{0,63}$"


def _web_address(url: SecretStr) -> SecretStr:
    if not url.get_secret_value().startswith(("http://", "https://")):
        reason = "it is not an address such as `https://example.org/alerts`"
        raise ValueError(reason)
    return url


def _plain(text: SecretStr | str) -> SecretStr | str:
    """Refuse what neither a header of HTTP nor a login over SMTP can carry."""
    plain = text.get_secret_value() if isinstance(text, SecretStr) else text
    if not plain.isascii() or not plain.isprintable():
        reason = "it has characters other than those of ASCII, which cannot be sent there"
        raise ValueError(reason)
    return text


Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """One entry of `[[alerts.rules]]`; what is None stays as it is in the rule it changes."""

    name: Annotated[str, Field(pattern=_NAME)]
    like: str | None = None
    """A ready-made rule that this one begins as; without it, `name` may be that of one."""

    enabled: bool | None = None
    metric: str | None = None
    where: dict[str, str] | None = None
    """What labels of a series must be; `*` and `?` stand for any text."""

    comparison: Literal[">", ">=", "<", "<=", "==", "!="] | None = None
    threshold: Annotated[float | None, Field(allow_inf_nan=False)] = None
    window_seconds: Annotated[float | None, Field(gt=0, le=604_800)] = None
    for_seconds: Annotated[float | None, Field(ge=0, le=604_800)] = None
    severity: Literal["info", "warning", "critical"] | None = None
    message: Annotated[str | None, Field(min_length=1, max_length=500)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDelivery:
    """Alerts as lines of the log."""

    kind: Literal["log"] = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """Alerts as JSON, posted to an address."""

    kind: Literal["webhook"] = "webhook"
    url: Annotated[SecretStr, AfterValidator(_web_address)]
    """Chat systems put the secret into the address."""

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] = "Authorization"
    """The name of the header that carries `secret`."""

    secret: Annotated[SecretStr, AfterValidator(_plain)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailDelivery:
    """Alerts as e-mail."""

    kind: Literal["mail"] = "mail"
    host: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    starttls: bool = True
    username: Annotated[str, AfterValidator(_plain)] | None = None
    password: Annotated[SecretStr, AfterValidator(_plain)] | None = None
    sender: Annotated[str, Field(pattern=r"^[^\s@]+@[^\s@]+$")]
    recipients: Annotated[Texts, Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDelivery:
    """Alerts as records of a topic of the cluster."""

    kind: Literal["topic"] = "topic"
    topic: Annotated[TopicName, Field(min_length=1)]


DeliverySettings = LogDelivery | WebhookDelivery | MailDelivery | TopicDelivery

DELIVERY_KINDS: Mapping[str, type[DeliverySettings]] = {
    "log": LogDelivery,
    "webhook": WebhookDelivery,
    "mail": MailDelivery,
    "topic": TopicDelivery,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    """What `[alerts]` says; those of `[profiles.NAME.alerts]` win, rule by rule."""

    repeat_seconds: Annotated[float, Field(ge=60)] = 4 * 3600.0
    """How often an alert that lasts is told again."""

    messages_per_minute: Annotated[int, Field(ge=1, le=600)] = 6
    """How many messages one delivery sends at most; what comes sooner is told together."""

    rules: tuple[RuleSettings, ...] = ()
    delivery: Mapping[str, DeliverySettings] = field(default_factory=dict)


_SCALARS = ("repeat_seconds", "messages_per_minute")
_TABLES = ("rules", "delivery")


def load_alerts(
    table: Mapping[str, Any],
    nearer: Mapping[str, Any],
    *,
    path: Path,
    dereferenced: Callable[[str, object], object],
) -> AlertSettings:
    """Return what two tables say together.

    Args:
        table: `[alerts]` of the file.
        nearer: `[alerts]` of the chosen profile.
        path: the file.
        dereferenced: follows references such as `${env:NAME}` in a value, given its key.

    Raises:
        UnknownSettingError: keys that there are not.
        InvalidSettingError: values that cannot be.
        SecretNotFoundError: a reference leads nowhere.
    """
    for part in (table, nearer):
        _require_shape(part, path)
    merged = {**table, **nearer}
    scalars = {name: merged[name] for name in _SCALARS if name in merged}
    rules = _merged_rules([*table.get("rules", ()), *nearer.get("rules", ())], path)
    deliveries = {
        name: {
            **table.get("delivery", {}).get(name, {}),
            **nearer.get("delivery", {}).get(name, {}),
        }
        for name in {**table.get("delivery", {}), **nearer.get("delivery", {})}
    }
    limits = _parsed(AlertSettings, scalars, "alerts", path)
    return AlertSettings(
        repeat_seconds=limits.repeat_seconds,
        messages_per_minute=limits.messages_per_minute,
        rules=tuple(
            _parsed(RuleSettings, rule, f"alerts.rules.{name}", path)
            for name, rule in rules.items()
        ),
        delivery={
            name: _delivery(name, entry, path, dereferenced) for name, entry in deliveries.items()
        },
    )


def _require_shape(table: Mapping[str, Any], path: Path) -> None:
    known = [f"alerts.{name}" for name in (*_SCALARS, *_TABLES)]
    unknown = [f"alerts.{name}" for name in table if f"alerts.{name}" not in known]
    if unknown:
        raise UnknownSettingError(unknown, known=known, origin=path)
    rules, delivery = table.get("rules", []), table.get("delivery", {})
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        _refuse("alerts.rules", "write each rule as `[[alerts.rules]]`", path)
    if not isinstance(delivery, dict) or not all(isinstance(x, dict) for x in delivery.values()):
        _refuse("alerts.delivery", "write each as `[alerts.delivery.NAME]`", path)


def _merged_rules(rules: list[dict[str, Any]], path: Path) -> dict[str, dict[str, Any]]:
    """Return the rules by name; of two with the same name the later wins, key by key."""
    merged: dict[str, dict[str, Any]] = {}
    for index, rule in enumerate(rules):
        name = rule.get("name")
        if not isinstance(name, str):
            key = f"alerts.rules[{index}].name"
            _refuse(key, "each rule needs a name, such as `orders-behind`", path)
        merged[name] = {**merged.get(name, {}), **rule}
    return merged


def _delivery(
    name: str,
    entry: Mapping[str, Any],
    path: Path,
    dereferenced: Callable[[str, object], object],
) -> DeliverySettings:
    key = f"alerts.delivery.{name}"
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in DELIVERY_KINDS:
        reason = f"it must be one of {', '.join(DELIVERY_KINDS)}, not {kind!r}"
        _refuse(f"{key}.kind", reason, path)
    values = {item: dereferenced(f"{key}.{item}", value) for item, value in entry.items()}
    parsed: DeliverySettings = _parsed(DELIVERY_KINDS[kind], values, key, path)
    return parsed


def _parsed(kind: type[Parsed], values: Mapping[str, Any], key: str, path: Path) -> Parsed:
    known = [f"{key}.{item.name}" for item in fields(kind)]  # type: ignore[arg-type]  # dataclasses
    unknown = [f"{key}.{name}" for name in values if f"{key}.{name}" not in known]
    if unknown:
        raise UnknownSettingError(unknown, known=known, origin=path)
    problems: list[InvalidValue] = []
    parsed: dict[str, Any] = {}
    hints = get_type_hints(kind, include_extras=True)
    for name, value in values.items():
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(hints[name])
            parsed[name] = adapter.validate_python(value, strict=True)
        except ValidationError as err:
            text = err.errors(include_input=False, include_url=False)[0]["msg"]
            text = text.removeprefix("Value error, ").replace("Input", "it", 1)
            problems.append(InvalidValue(key=f"{key}.{name}", reason=text, source=str(path)))
    problems += [
        InvalidValue(key=f"{key}.{item.name}", reason="it is missing", source=str(path))
        for item in fields(kind)  # type: ignore[arg-type]  # dataclasses
        if item.name not in values and item.default is MISSING and item.default_factory is MISSING
    ]
    if problems:
        raise InvalidSettingError(problems)
    return kind(**parsed)


def _refuse(key: str, reason: str, path: Path) -> NoReturn:
    raise InvalidSettingError([InvalidValue(key=key, reason=reason, source=str(path))])


def alert_entries(alerts: AlertSettings) -> Iterator[tuple[str, object]]:
    """Yield what was configured of alerts by dotted key, for people to see; secrets as they are."""
    for rule in alerts.rules:
        yield from _given(f"alerts.rules.{rule.name}", rule, leave_out="name")
    for name, delivery in alerts.delivery.items():
        yield from _given(f"alerts.delivery.{name}", delivery, leave_out="")


def _given(
    key: str, item: RuleSettings | DeliverySettings, leave_out: str
) -> Iterator[tuple[str, object]]:
    for part in fields(item):
        value = getattr(item, part.name)
        if value is not None and part.name != leave_out:
            yield f"{key}.{part.name}", value
