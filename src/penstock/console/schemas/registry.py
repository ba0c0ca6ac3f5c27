"""The registry as these pages ask it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.registry.client import RegistryClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.console.frame import Ask


class NoRegistryError(PenstockError):
    """The console knows no schema registry."""

    code = "PEN-781"

    def __init__(self) -> None:
        super().__init__(
            "this console knows no schema registry",
            hint="`penstock up` starts one; `registry.url` names another",
        )


@contextmanager
def asking(ask: Ask) -> Iterator[RegistryClient]:
    """Ask the registry within the block.

    Raises:
        NoRegistryError: there is none.
    """
    address = ask.world.place.registry
    if address is None:
        raise NoRegistryError
    client = RegistryClient(address)
    try:
        yield client
    finally:
        client.close()
