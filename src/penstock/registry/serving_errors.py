"""What keeps a registry from being served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import Origin, PenstockError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


class RegistryPortError(PenstockError):
    """Nothing can listen on the port for the registry."""

    code = "PEN-722"

    def __init__(self, host: str, port: int, *, reason: str) -> None:
        super().__init__(
            f"the registry cannot be served on `{host}:{port}`: {reason}",
            hint="set `registry.port` to another; `0` takes any free one",
        )


class UsersFileError(UsageError):
    """The file of users cannot be understood."""

    code = "PEN-723"

    def __init__(self, path: Path, *, line: int | None, reason: str) -> None:
        super().__init__(
            f"`{path}` is not a file of users: {reason}",
            hint=f"`penstock registry user NAME >> {path}` adds a line for a user",
            origin=Origin(path, line),
        )


class CertificateError(UsageError):
    """The certificate and the key do not make a server that speaks HTTPS."""

    code = "PEN-724"

    def __init__(self, certificate: Path | None, key: Path | None, *, reason: str) -> None:
        super().__init__(
            f"HTTPS cannot be served with certificate `{certificate}` and key `{key}`: {reason}",
            hint="set `registry.certificate` and `registry.key` to PEM files that belong together",
        )


class RegistryLostError(PenstockError):
    """A registry that was serving cannot go on."""

    code = "PEN-725"

    def __init__(self, topic: str, *, reason: str) -> None:
        super().__init__(
            f"the registry on topic `{topic}` has stopped: {reason}",
            hint=f"`penstock topics describe {topic}` shows the topic; start the registry again",
        )
