"""`penstock consume`: options that are wrong before any cluster is asked."""

from pathlib import Path

import pytest

from support.in_process import PenstockInProcess


@pytest.fixture
def penstock(tmp_path: Path) -> PenstockInProcess:
    """A command that reaches nobody: whatever asks a cluster fails with PEN-401."""
    return PenstockInProcess(tmp_path, {"PENSTOCK_BOOTSTRAP": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "PEN-950]: name topics or a pattern\n"),
        (["orders", "--regex", "o.*"], "PEN-950]: name topics or a pattern, not both\n"),
        (["orders", "--last", "1", "--from", "end"], "`--last` and `--from` do not go together"),
        (["orders", "--group", "g", "--last", "1"], "`--group` and `--last` do not go together"),
        (["orders", "--group", "g", "--partition", "0"], "`--group` and `--partition` do not go"),
        (["orders", "--json", "--details"], "`--json` and `--details` do not go together"),
        (["orders", "--json", "--show", "key"], "`--json` and `--show` do not go together"),
        (["orders", "--details", "--show", "key"], "`--details` and `--show` do not go together"),
        (["orders", "--group", "g", "--from", "6h"], "a group reads on at its committed offsets"),
        (["orders", "--group", "g", "--from", "offset:1"], "a group reads on at its committed"),
        (["--regex", "("], "PEN-951]: `(` is not a regular expression: missing )"),
        (["orders", "--where", "amount > 1"], "PEN-495]: `amount > 1` is not a condition"),
        (["orders", "--from", "yesterday"], "'yesterday' is no place in a topic"),
        (["orders", "--from", "offset:-1"], "'offset:-1' is no place in a topic"),
        (["orders", "--show", "kye"], "'kye' is not a column; did you mean key?"),
        (["orders", "--last", "0"], "PEN-930]: invalid value for '--last'"),
        (["orders", "--limit", "0"], "PEN-930]: invalid value for '--limit'"),
        (["orders", "--timeout", "soon"], "'soon' is not a length of time"),
        (["orders", "--partition", "x"], "PEN-930]: invalid value for '--partition'"),
        (["orders", "--isolation", "dirty"], "PEN-930]: invalid value for '--isolation'"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(
    penstock: PenstockInProcess, arguments: list[str], message: str
) -> None:
    done = penstock("consume", *arguments)
    assert (done.status, message in done.stderr, "hint: " in done.stderr) == (2, True, True)
    assert "Traceback" not in done.stderr


def test_an_unreachable_cluster_is_named(penstock: PenstockInProcess) -> None:
    done = penstock("consume", "orders")
    assert (done.status, done.stdout) == (1, "")
    assert done.stderr.startswith("error[PEN-401]: no Kafka broker answered at `127.0.0.1:1`")
