"""The REST API of the registry: Confluent's, path by path and code by code."""

from penstock.registry.api.answers import error_answer
from penstock.registry.api.app import create_app

__all__ = ["create_app", "error_answer"]
