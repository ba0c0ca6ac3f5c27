"""The entry point: what is loaded, and how every end of a command looks."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from penstock.cli.main import COMMANDS, main
from support.commands import PENSTOCK, Penstock


@pytest.fixture
def penstock(tmp_path: Path) -> Penstock:
    return Penstock(tmp_path, {"XDG_CACHE_HOME": str(tmp_path / "cache")})


def run_command_that(
    act: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> object:
    """Run `main` with a command whose body is `act`; return the exit status."""
    command = click.command("act", params=[click.Option(["--json"], is_flag=True)])
    body = command(lambda json: act())  # noqa: ARG005 - click names the option so
    monkeypatch.setitem(COMMANDS, "act", ("act", "act", "Do it."))
    monkeypatch.setitem(sys.modules, "penstock.cli.act", SimpleNamespace(act=body))
    monkeypatch.setattr(sys, "argv", ["penstock", "act", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_help_lists_every_command_and_loads_nothing_heavy(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from penstock.cli.main import main\n"
        "sys.argv = ['penstock', '--help']\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = {'confluent_kafka', 'pydantic', 'pyspark', 'rich', 'psutil'}\n"
        "    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    section = done.stdout.partition("Commands:\n")[2]
    assert [line.split()[0] for line in section.splitlines()] == list(COMMANDS)
    assert done.stderr == "[]\n"


def test_completion_of_commands_loads_none_of_them(penstock: Penstock) -> None:
    words = {"_PENSTOCK_COMPLETE": "bash_complete", "COMP_WORDS": "penstock co", "COMP_CWORD": "1"}
    done = Penstock(penstock.folder, words)()
    assert (done.stdout, done.stderr) == (
        "plain,consume\nplain,console\nplain,config\nplain,completion\n",
        "",
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_the_shell(penstock: Penstock, shell: str) -> None:
    done = penstock("completion", shell)
    assert (done.status, done.stderr) == (0, "")
    assert f"_PENSTOCK_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (
            ["gruops"],
            "error[PEN-931]: `penstock` has no command `gruops`",
            "did you mean `penstock groups`?",
        ),
        (
            ["groups", "lsit"],
            "error[PEN-931]: `penstock groups` has no command `lsit`",
            "did you mean `penstock groups list`?",
        ),
        (
            ["xyzzy"],
            "error[PEN-931]: `penstock` has no command `xyzzy`",
            "`penstock --help` lists them",
        ),
        (
            ["config", "show", "--jsno"],
            "error[PEN-930]: no such option '--jsno'",
            "did you mean `--json`?",
        ),
        (
            ["completion", "csh"],
            "error[PEN-930]: invalid value for '{bash|zsh|fish}': 'csh' is not one of "
            "'bash', 'zsh', 'fish'",
            "`penstock completion --help` shows how it is used",
        ),
    ],
)
def test_wrong_usage_is_one_sentence_and_a_hint(
    penstock: Penstock, arguments: list[str], message: str, hint: str
) -> None:
    done = penstock(*arguments)
    assert (done.status, done.stdout, done.stderr) == (2, "", f"{message}\n\nhint: {hint}\n")


def test_with_json_an_error_is_one_object_on_stdout(penstock: Penstock) -> None:
    done = penstock("config", "show", "--profile", "nowhere", "--json")
    assert (done.status, done.json) == (
        2,
        {
            "error": {
                "code": "PEN-004",
                "message": "profile `nowhere` does not exist: no `penstock.toml` here or above",
                "hint": "add a table [profiles.nowhere] to `penstock.toml`",
                "origin": None,
                "retryable": False,
            }
        },
    )


def test_without_a_command_the_help_is_shown(penstock: Penstock) -> None:
    done = penstock()
    assert (done.status, done.stderr.splitlines()[0]) == (
        2,
        "Usage: penstock [OPTIONS] COMMAND [ARGS]...",
    )


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [PENSTOCK, "completion", "bash"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    started.stdout.close()
    _, complaint = started.communicate()
    assert (started.returncode, complaint) == (0, "")


def test_a_bug_is_said_in_one_sentence_and_its_traceback_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def explode() -> None:
        raise LookupError("valve")  # noqa: EM101 - what any bug looks like

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    status = run_command_that(explode, monkeypatch, "--json")
    said = capsys.readouterr()

    [report] = (tmp_path / "penstock" / "crashes").iterdir()
    message = "this is a bug in Penstock: LookupError: valve"
    hint = f"please report it; `{report}` holds the traceback"
    assert status == 1
    assert said.err == f"error[PEN-900]: {message}\n\nhint: {hint}\n"
    assert json.loads(said.out)["error"]["code"] == "PEN-900"
    assert report.read_text().splitlines()[-1] == "LookupError: valve"


def test_a_bug_is_reported_even_where_nothing_can_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def explode() -> None:
        raise LookupError

    (tmp_path / "penstock").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_command_that(explode, monkeypatch) == 1
    assert capsys.readouterr().err == (
        "error[PEN-900]: this is a bug in Penstock: LookupError\n\n"
        "hint: please report it; `penstock --verbose` shows the traceback\n"
    )


def test_ctrl_c_ends_with_one_line_and_status_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    assert run_command_that(interrupt, monkeypatch) == 130
    assert capsys.readouterr() == ("", "stopped\n")


def test_a_question_answered_no_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def decline() -> None:
        raise click.Abort

    assert run_command_that(decline, monkeypatch) == 1
    assert capsys.readouterr() == ("", "nothing was done\n")


def test_a_broken_pipe_to_somebody_else_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Only a closed stdout is the reader's right; a socket that breaks is not success."""

    def lose_a_socket() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_command_that(lose_a_socket, monkeypatch) == 1
