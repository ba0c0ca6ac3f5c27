"""The registry of a run: found in the settings, and asked only for what no file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.engine.contracts.binding import Contracts
    from penstock.pipeline import Pipeline
    from penstock.registry.client import RegistryClient
    from penstock.settings import Settings


def contracts_of(pipeline: Pipeline, settings: Settings, spark: SparkSession) -> Contracts:
    """Return what resolves the schemas of a pipeline's topics."""
    from penstock.engine.contracts.binding import Contracts

    may_register = settings.registry.register
    if may_register is None:
        may_register = settings.registry.url is None
    return Contracts(spark, pipeline.folder, lambda: registry_of(settings), registers=may_register)


def registry_of(settings: Settings) -> RegistryClient:
    """Return a client of the registry that the settings name, else of the local platform's.

    Raises:
        PlatformNotRunningError: none is named, and the platform does not run.
    """
    from penstock.local import registry_address
    from penstock.registry.client import RegistryClient

    return RegistryClient(registry_address(settings))
