"""A real broker that asks who is there: SCRAM-SHA-512 for all clients, ACLs for all but `admin`.

Three users exist from the start. `admin` may do everything, `alice` and `mallory` nothing until
`allow` grants it. The passwords are random and never printed: Kafka's tool echoes the keys that it
derives from them, and its output is not kept.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from pydantic import SecretStr

from penstock.java import JarSet, class_archive, class_path, ensure_jars, find_java
from penstock.kafka import Connection, await_round_trip
from penstock.local.broker import (
    BrokerCommand,
    BrokerShape,
    Folders,
    build_properties,
    new_shape,
)
from penstock.local.ports import HOST
from penstock.settings import ClusterSettings, load_settings
from support.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

MECHANISM: Final = "SCRAM-SHA-512"
START_TIMEOUT_SECONDS = 60


class User(StrEnum):
    """Who the broker knows."""

    ADMIN = "admin"
    ALICE = "alice"
    MALLORY = "mallory"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuredKafka:
    """A running broker, and the passwords of its users."""

    bootstrap: str
    passwords: Mapping[User, SecretStr]
    log: Path

    def connection(self, user: User, *, password: SecretStr | None = None) -> Connection:
        """Return how `user` reaches the broker, with the right password unless another is given."""
        return Connection(
            bootstrap=self.bootstrap,
            security=ClusterSettings(
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism=MECHANISM,
                sasl_username=user,
                sasl_password=password or self.passwords[user],
            ),
        )

    def allow(
        self, user: User, kind: ResourceType, prefix: str, operations: Sequence[AclOperation]
    ) -> None:
        """Let `user` do `operations` with all resources whose names begin with `prefix`."""
        client = AdminClient({**self.connection(User.ADMIN).client_config()})
        bindings = [
            AclBinding(
                kind,
                prefix,
                ResourcePatternType.PREFIXED,
                f"User:{user}",
                "*",
                operation,
                AclPermissionType.ALLOW,
            )
            for operation in operations
        ]
        for future in client.create_acls(bindings).values():
            future.result(timeout=20)
        for binding in bindings:
            # The broker learns from the controller a moment later what it is to allow.
            eventually(partial(_is_known, client, binding), within_seconds=20)


def _is_known(client: AdminClient, binding: AclBinding) -> bool:
    wanted = AclBindingFilter(
        binding.restype,
        binding.name,
        binding.resource_pattern_type,
        binding.principal,
        binding.host,
        binding.operation,
        binding.permission_type,
    )
    return bool(client.describe_acls(wanted).result(timeout=20))


@contextmanager
def secured_kafka(folder: Path) -> Iterator[SecuredKafka]:
    """Run one secured broker with its data below `folder`; it is killed at the end."""
    command = _command(folder)
    (shape,) = command.shape.brokers
    passwords = {user: SecretStr(uuid4().hex) for user in User}
    command.prepare(shape)
    properties = folder / shape.name / "server.properties"
    properties.touch(mode=0o600)
    properties.write_text(
        build_properties(command.shape, shape, command.folders)
        + _security_properties(shape, passwords[User.ADMIN]),
        encoding="utf-8",
    )
    _format(command, properties, passwords)
    process = command.spawn(shape)
    try:
        secured = SecuredKafka(
            bootstrap=command.shape.bootstrap,
            passwords=passwords,
            log=command.folders.log(shape.name),
        )
        await_round_trip(
            secured.connection(User.ADMIN),
            brokers=1,
            timeout_seconds=START_TIMEOUT_SECONDS,
            check=lambda: _fail_when_ended(process, secured.log),
        )
        yield secured
    finally:
        process.kill()
        process.wait()


def _command(folder: Path) -> BrokerCommand:
    settings = load_settings().java
    java = find_java(cache_dir=settings.cache_dir)
    jars = ensure_jars(JarSet.KAFKA, settings, java=java)
    (exporter,) = ensure_jars(JarSet.EXPORTER, settings, java=java)
    return BrokerCommand(
        java=java.executable,
        jars=jars,
        exporter=exporter,
        archive=class_archive(settings.cache_dir, "kafka", java, (*jars, exporter)),
        shape=new_shape(brokers=1, heap_mb=192),
        folders=Folders(root=folder),
    )


def _security_properties(broker: BrokerShape, password: SecretStr) -> str:
    """Return lines that win over those of a plain broker: the last of a name counts.

    The controller's listener stays open, and who comes through it is `ANONYMOUS`; nobody is
    `ANONYMOUS` on the listener of the clients.
    """
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    login = f'{module} required username="{User.ADMIN}" password="{password.get_secret_value()}";'
    listener = f"SASL_PLAINTEXT://{HOST}:{broker.port}"
    properties = {
        "listeners": f"{listener},CONTROLLER://{HOST}:{broker.controller_port}",
        "advertised.listeners": listener,
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": MECHANISM,
        "sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.sasl_plaintext.{MECHANISM.lower()}.sasl.jaas.config": login,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{User.ADMIN};User:ANONYMOUS",
    }
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def _format(command: BrokerCommand, properties: Path, passwords: Mapping[User, SecretStr]) -> None:
    users = [
        f"{MECHANISM}=[name={user},password={password.get_secret_value()}]"
        for user, password in passwords.items()
    ]
    done = subprocess.run(
        [str(command.java), *command.archive.options(None), "-XX:TieredStopAtLevel=1",
         "-cp", class_path((*command.jars, command.exporter)), "kafka.tools.StorageTool", "format",
         "--cluster-id", command.shape.cluster_id, "--config", str(properties),
         *[word for user in users for word in ("--add-scram", user)]],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.fail("Kafka's tool did not format the storage of a secured broker", pytrace=False)


def _fail_when_ended(process: subprocess.Popen[bytes], log: Path) -> None:
    if process.poll() is not None:
        last = log.read_text().splitlines()[-1] if log.exists() else "no log"
        pytest.fail(f"the secured broker did not start: {last}", pytrace=False)
