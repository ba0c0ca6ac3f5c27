"""Every error has a code of its own and a page that explains it."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import penstock
from penstock.errors import Origin, PenstockError, UsageError

PAGES = Path(__file__).parents[2] / "docs" / "errors"


class BrokenValveError(UsageError):
    """An error as any package defines it; its code is outside of every package's range."""

    code = "PEN-X"

    def __init__(self) -> None:
        super().__init__("valve `a` is broken", hint="`penstock up`", origin=Origin(Path("f"), 7))


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    pages = {path.stem for path in PAGES.glob("PEN-*.md")}
    assert pages == set(codes())


def test_no_two_classes_share_a_code() -> None:
    shared = {code: names for code, names in codes().items() if len(names) > 1}
    assert shared == {}


def test_every_page_begins_with_its_code() -> None:
    wrong = [
        path.name
        for path in PAGES.glob("PEN-*.md")
        if not path.read_text(encoding="utf-8").startswith(f"# {path.stem}: ")
    ]
    assert wrong == []


def test_an_error_carries_what_programs_need() -> None:
    assert BrokenValveError().as_dict() == {
        "code": "PEN-X",
        "message": "valve `a` is broken",
        "hint": "`penstock up`",
        "origin": "f:7",
        "retryable": False,
    }


def test_wrong_usage_ends_with_status_2_and_other_faults_with_1() -> None:
    assert (BrokenValveError.exit_status, PenstockError.exit_status) == (2, 1)


def test_an_origin_without_a_line_is_the_file() -> None:
    assert str(Origin(Path("penstock.toml"))) == "penstock.toml"


def codes() -> dict[str, list[str]]:
    """Return the classes that define each code, over all modules of Penstock."""
    for module in pkgutil.walk_packages(penstock.__path__, "penstock."):
        importlib.import_module(module.name)
    found: dict[str, list[str]] = {}
    for kind in subclasses(PenstockError):
        if "code" in vars(kind) and kind.__module__.startswith("penstock."):
            found.setdefault(vars(kind)["code"], []).append(kind.__qualname__)
    return found


def subclasses(kind: type[PenstockError]) -> Iterator[type[PenstockError]]:
    for child in kind.__subclasses__():
        yield child
        yield from subclasses(child)
