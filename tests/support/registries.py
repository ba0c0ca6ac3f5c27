"""Schema registries as processes of their own, started as a user would start them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import httpx2
import pytest

from support.commands import PENSTOCK
from support.waiting import eventually

if TYPE_CHECKING:
    import signal
    import ssl
    from collections.abc import Iterator, Mapping

    from penstock.local.cluster import KafkaCluster

_READY = re.compile(r"the registry is ready at (\S+); ")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryProcess:
    """A registry that answers at `url`."""

    url: str
    process: subprocess.Popen[str]
    errors: IO[str]
    verify: ssl.SSLContext | bool = True

    def leads(self) -> bool:
        """Whether it does the writes."""
        answer = httpx2.get(f"{self.url}/health", verify=self.verify, timeout=60)
        return bool(answer.json()["leads"])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its process."""
        os.kill(self.process.pid, number)

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its status and what it wrote to stderr."""
        status = self.process.wait(timeout=30)
        self.errors.seek(0)
        return status, self.errors.read()


@contextmanager
def running_registry(
    bootstrap: str,
    topic: str,
    environment: Mapping[str, str] | None = None,
    *,
    verify: ssl.SSLContext | bool = True,
    port: int = 0,
) -> Iterator[RegistryProcess]:
    """Run a registry, on a free port unless one is given; return when it answers."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [
                *(PENSTOCK, "registry", "serve", "--port", str(port)),
                *("--bootstrap", bootstrap, "--topic", topic),
            ],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        try:
            ready = _READY.match(process.stdout.readline())
            if ready is None:
                errors.seek(0)
                pytest.fail(f"no registry: {errors.read()}")
            yield RegistryProcess(url=ready[1], process=process, errors=errors, verify=verify)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@contextmanager
def two_registries(
    kafka: KafkaCluster,
    topic: str,
    environment: Mapping[str, str] | None = None,
    *,
    verify: ssl.SSLContext | bool = True,
) -> Iterator[tuple[RegistryProcess, RegistryProcess]]:
    """Run two registries on one topic; the first one leads."""
    with running_registry(kafka.bootstrap, topic, environment, verify=verify) as leader:
        eventually(leader.leads, within_seconds=20)
        with running_registry(kafka.bootstrap, topic, environment, verify=verify) as follower:
            yield leader, follower
