"""Broker configs that hold for all brokers: dynamic defaults of the cluster.

The client library insists on a broker id, so these are asked and changed over the plain protocol
(`wire.py`), which every broker passes on to the controller.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka.admin._config import ConfigSource as ClientSource

from penstock.kafka.cluster.configs import (
    SOURCES,
    ConfigEntry,
    ConfigSource,
    InvalidConfigValueError,
)
from penstock.kafka.cluster.wire import (
    NO_TAGS,
    Reader,
    Request,
    ask,
    encoded_array,
    encoded_text,
)
from penstock.kafka.errors import ClusterError, ClusterUnreachableError
from penstock.kafka.reachability import reachable_brokers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.kafka.admin import Admin
    from penstock.kafka.cluster.configs import ConfigAlteration

Item = TypeVar("Item")

_BROKER_RESOURCE = struct.pack(">b", 4)
_SET, _DELETE = 0, 1


class ClusterDefaultsNotVisibleError(ClusterError):
    """Defaults of all brokers cannot be asked over an encrypted or authenticated connection."""

    code = "PEN-427"

    def __init__(self, protocol: str) -> None:
        super().__init__(
            f"configs of all brokers need a `PLAINTEXT` listener, the profile uses `{protocol}`",
            hint="use `--broker ID` for each broker instead; `penstock cluster describe` lists "
            "them",
        )


def cluster_default_configs(admin: Admin) -> tuple[ConfigEntry, ...]:
    """Return the dynamic configs that hold for all brokers, by name.

    Raises:
        ClusterDefaultsNotVisibleError: the connection is not `PLAINTEXT`.
        WireError: the broker did not answer.
    """
    resource = _BROKER_RESOURCE + encoded_text("") + encoded_text(None)
    body = encoded_array([resource]) + b"\x00\x00" + NO_TAGS  # neither synonyms nor documentation
    results = _ask(admin, Request(api_key=32, api_version=4, body=body), _described)
    return tuple(sorted(results, key=lambda entry: entry.name))


def alter_cluster_defaults(admin: Admin, alterations: Sequence[ConfigAlteration]) -> None:
    """Set and remove configs for all brokers, all or none of them.

    Check names with `configs.ensure_known_configs` before: the controller accepts any.

    Raises:
        InvalidConfigValueError: a value is not accepted; nothing was changed.
        ClusterDefaultsNotVisibleError: the connection is not `PLAINTEXT`.
        WireError: the broker did not answer.
    """
    entries = [
        encoded_text(item.name)
        + struct.pack(">b", _DELETE if item.value is None else _SET)
        + encoded_text(item.value)
        for item in alterations
    ]
    resource = _BROKER_RESOURCE + encoded_text("") + encoded_array(entries)
    body = encoded_array([resource]) + b"\x00" + NO_TAGS  # not only validated
    refusal = _ask(admin, Request(api_key=44, api_version=1, body=body), _refusal)
    if refusal is not None:
        action = "change the configs of all brokers"
        raise InvalidConfigValueError(action, reason=refusal)


def _ask(admin: Admin, request: Request, decode: Callable[[Reader], Item]) -> Item:
    if not admin.connection.is_plaintext:
        raise ClusterDefaultsNotVisibleError(admin.connection.security.security_protocol)
    address = next(iter(reachable_brokers(admin).values()), None)
    if address is None:
        raise ClusterUnreachableError(
            admin.connection.bootstrap, tried="tried every broker", reason="none answered"
        )
    return ask(address, request, decode, timeout_seconds=admin.timeout_seconds)


def _described(reader: Reader) -> tuple[ConfigEntry, ...]:
    reader.int32()  # throttle time
    return tuple(entry for result in reader.array(_result) for entry in result)


def _result(reader: Reader) -> tuple[ConfigEntry, ...]:
    _resource_refusal(reader)
    return reader.array(_entry)


def _entry(reader: Reader) -> ConfigEntry:
    name, value, read_only = reader.name(), reader.text(), reader.int8() != 0
    source, sensitive = ClientSource(reader.int8()), reader.int8() != 0
    reader.array(lambda item: (item.text(), item.text(), item.int8()))  # synonyms
    reader.int8()  # type
    reader.text()  # documentation
    return ConfigEntry(
        name=name,
        value=value,
        source=SOURCES.get(source, ConfigSource.UNKNOWN),
        read_only=read_only,
        sensitive=sensitive,
    )


def _refusal(reader: Reader) -> str | None:
    reader.int32()  # throttle time
    refusals = reader.array(_resource_refusal)
    return next((refusal for refusal in refusals if refusal is not None), None)


def _resource_refusal(reader: Reader) -> str | None:
    code, message = reader.int16(), reader.text()
    reader.int8()  # resource type
    reader.text()  # resource name
    return None if code == 0 else message or f"error code {code}"
