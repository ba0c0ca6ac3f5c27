"""Every package says in `__all__` what is public, and means it."""

import importlib
import pkgutil

import pytest

import penstock

PACKAGES = ["penstock"] + [
    module.name
    for module in pkgutil.walk_packages(penstock.__path__, "penstock.")
    if module.ispkg and hasattr(importlib.import_module(module.name), "__all__")
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_can_be_imported(package: str) -> None:
    module = importlib.import_module(package)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


@pytest.mark.parametrize("package", PACKAGES)
def test_exported_names_are_sorted_and_said_once(package: str) -> None:
    exported = importlib.import_module(package).__all__
    assert list(exported) == sorted(set(exported), key=_as_the_linter_sorts)


def _as_the_linter_sorts(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest: the order that ruff's RUF022 keeps."""
    if name.isupper():
        return (0, name)
    return (1, name) if name[0].isupper() else (2, name)
