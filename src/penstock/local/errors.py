"""What can go wrong with a platform as a whole, and with one of its brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, UsageError
from penstock.settings import DEFAULT_PLATFORM

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.names import BrokerId, PlatformName


class PlatformNotRunningError(PenstockError):
    """A command needs the local platform, and it is not running."""

    code = "PEN-508"

    def __init__(
        self,
        name: PlatformName,
        *,
        instead: str = "`--bootstrap HOST:PORT` chooses another cluster",
    ) -> None:
        up = "penstock up" if name == DEFAULT_PLATFORM else f"penstock up --name {name}"
        super().__init__(
            f"the local platform `{name}` is not running", hint=f"`{up}` starts it; {instead}"
        )


class PlatformShapeError(UsageError):
    """The platform exists with another number of brokers than asked for."""

    code = "PEN-509"

    def __init__(self, name: PlatformName, *, found: int, asked: int) -> None:
        super().__init__(
            f"the platform `{name}` has {found} broker(s), not {asked}",
            hint=f"`penstock up --name NAME --brokers {asked}` makes another beside it; "
            "`penstock down --delete-data` removes this one and its records",
        )


class BrokerStartError(PenstockError):
    """A broker ended before it was ready."""

    code = "PEN-510"

    def __init__(self, broker_id: BrokerId, *, reason: str, log: Path) -> None:
        super().__init__(
            f"broker {broker_id} could not start: {reason}",
            hint=f"its log is `{log}`; nothing was left running",
        )


class BrokerCommandRefusedError(UsageError):
    """The supervisor will not do that to a broker."""

    code = "PEN-511"

    def __init__(self, reason: str) -> None:
        super().__init__(reason, hint="`penstock platform status` lists the brokers")


class UnknownComponentError(UsageError):
    """The platform has no component of that name."""

    code = "PEN-512"

    def __init__(self, name: str, *, known: list[str]) -> None:
        super().__init__(
            f"the platform has no component `{name}`",
            hint=f"there are {', '.join(known)}",
        )


class PlatformFolderError(PenstockError):
    """The system does not let us use the folder of a platform."""

    code = "PEN-513"

    def __init__(self, path: str, *, reason: str) -> None:
        super().__init__(
            f"`{path}` cannot be used for a platform: {reason}",
            hint="make it readable and writable for you, or set `platform.data_dir` to another "
            "folder",
        )
