import json

import pytest
from click.testing import CliRunner

from penstock.cli.doctor import doctor as command
from penstock.local import doctor
from penstock.local.doctor import Check, Level

FINE = Check(name="java", level=Level.OK, found="Java 17")
ODD = Check(name="ports", level=Level.WARNING, found="port 9092 is held", hint="others are taken")
BAD = Check(name="cluster", level=Level.PROBLEM, found="no answer", hint="`penstock up`")


def run(monkeypatch: pytest.MonkeyPatch, *checks: Check, arguments: list[str]) -> tuple[int, str]:
    monkeypatch.setattr(doctor, "examine", lambda _: iter(checks))
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_each_check_is_a_line_with_its_hint_below_and_a_summary_ends_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run(monkeypatch, FINE, ODD, BAD, BAD, arguments=[]) == (
        1,
        "ok       java        Java 17\n"
        "warning  ports       port 9092 is held\n"
        "                     hint: others are taken\n"
        "problem  cluster     no answer\n"
        "                     hint: `penstock up`\n"
        "problem  cluster     no answer\n"
        "                     hint: `penstock up`\n"
        "\n"
        "1 ok, 1 warning, 2 problems\n",
    )


def test_warnings_alone_do_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = run(monkeypatch, FINE, ODD, arguments=[])

    assert (status, output.splitlines()[-1]) == (0, "1 ok, 1 warning")


@pytest.mark.parametrize(("checks", "ok"), [((FINE, ODD), True), ((FINE, BAD), False)])
def test_json_has_every_field_and_nothing_else_is_printed(
    monkeypatch: pytest.MonkeyPatch,
    checks: tuple[Check, ...],
    ok: bool,  # noqa: FBT001
) -> None:
    status, output = run(monkeypatch, *checks, arguments=["--json"])

    assert status == (0 if ok else 1)
    assert json.loads(output) == {
        "ok": ok,
        "checks": [
            {"name": c.name, "level": str(c.level), "found": c.found, "hint": c.hint}
            for c in checks
        ],
    }
