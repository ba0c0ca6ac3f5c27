"""Contracts for engine tests: the schemas of a folder, and a registry if there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.engine.contracts.binding import Contracts
from penstock.registry.client import RegistryAddress, RegistryClient

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def contracts_at(
    spark: SparkSession, folder: Path, registry_url: str | None = None, *, registers: bool = True
) -> Contracts:
    """Return contracts of the project in `folder`; without an address nobody may ask a registry."""

    def connect() -> RegistryClient:
        assert registry_url is not None, "this test has no registry"
        return RegistryClient(RegistryAddress(url=registry_url))

    return Contracts(spark, folder, connect, registers=registers)
