"""Fixtures of the contract suites."""

from support.postgres import postgres, postgres_dsn

__all__ = ["postgres", "postgres_dsn"]
