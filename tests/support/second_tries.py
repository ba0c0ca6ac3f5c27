"""Second tries of tests, which are told and counted (`docs/decisions/0020-second-tries.md`).

`make test` and `make test-long` let a test that failed run once more. Here stands which tests may
not, what is said of those that needed it, and how many are too many.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 3
"""So many tests of a run may need a second try; with more of them it has failed."""

_NEVER = Path("tests", "unit")
"""Hardly anything there waits for another process: what fails once is wrong."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run ask for second tries."""
    parser.addoption("--second-tries", action="store_true", help="run failed tests once more")


def pytest_collection_modifyitems(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Mark the tests that may have a second try; of the others the plugin keeps no account."""
    if not config.getoption("second_tries"):
        return
    for item in items:
        if not item.path.is_relative_to(config.rootpath / _NEVER):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run with too many second tries."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if len(_first_tries(reporter)) > MOST:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show how each first try failed: it may be a fault that is seldom seen."""
    reports = _first_tries(terminalreporter)
    if not reports:
        return
    verdict = f"{len(reports)} needed a second try, {MOST} may"
    terminalreporter.write_sep("=", verdict, red=len(reports) > MOST, yellow=True)
    for report in reports:
        terminalreporter.write_sep("_", report.nodeid)
        terminalreporter.write_line(report.longreprtext)
        for title, text in report.sections:
            terminalreporter.write_sep("-", title)
            terminalreporter.write_line(text)


def _first_tries(reporter: pytest.TerminalReporter | None) -> Sequence[pytest.TestReport]:
    """Return the failed first tries; none in the workers of a run, which have no reporter."""
    return reporter.stats.get("rerun", []) if reporter else []
