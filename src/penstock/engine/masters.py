"""Spark masters: what follows from where the executors run."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.settings import SparkSettings

_THIS_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


class LocationNotSharedError(UsageError):
    """Executors on other machines cannot reach a folder of this one."""

    code = "PEN-390"

    def __init__(self, location: str, *, master: str) -> None:
        super().__init__(
            f"`spark.checkpoint_root` is the folder `{location}` of this machine, and the "
            f"executors of `{master}` run on others",
            hint="set it to what all machines reach, such as `s3a://bucket/checkpoints`; a folder "
            "that all of them mount is written `file:///mnt/checkpoints`",
        )
        self.location, self.master = location, master


def is_on_this_machine(master: str) -> bool:
    """Return whether all executors of `master` run here."""
    return master.startswith("local") or is_own_cluster(master)


def is_own_cluster(master: str) -> bool:
    """Return whether `master` is a standalone cluster that only this machine reaches."""
    if not master.startswith("spark://"):
        return False
    masters = master.removeprefix("spark://").split(",")
    return all(urlsplit(f"//{address}").hostname in _THIS_MACHINE for address in masters)


def require_shared(settings: SparkSettings, master: str) -> None:
    """Check that executors reach the checkpoints, as far as the location tells.

    A checkpoint that every machine keeps for itself works until the first restart.

    Raises:
        LocationNotSharedError: it is a folder, and executors run elsewhere.
    """
    location = settings.checkpoint_root
    if "://" not in location and not is_on_this_machine(master):
        raise LocationNotSharedError(location, master=master)
