"""The client of a registry: typed requests, and errors by what to do next."""

from penstock.registry.client.client import Mode, RegistryAddress, RegistryClient
from penstock.registry.client.errors import (
    NotARegistryError,
    NotRegisteredError,
    RegistryAccessError,
    RegistryUnavailableError,
    RequestRefusedError,
)

__all__ = [
    "Mode",
    "NotARegistryError",
    "NotRegisteredError",
    "RegistryAccessError",
    "RegistryAddress",
    "RegistryClient",
    "RegistryUnavailableError",
    "RequestRefusedError",
]
