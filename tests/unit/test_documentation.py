"""The documentation says what is true: links lead somewhere, commands and options exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from penstock.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
# A command begins and ends with a line, a quotation or a stage of a shell pipeline.
PENSTOCK = re.compile(r"(?:^\s*(?:\$ )?|`|\| )penstock((?: (?!\|)[^\s`]+)+)", re.MULTILINE)
MAKE = re.compile(r"\bmake((?: [A-Z]+=\S+)*) ([a-z-]+)")


def test_links_lead_somewhere() -> None:
    links = [(page, link) for page in PAGES for link in LINK.findall(page.read_text())]
    relative = [(page, link) for page, link in links if "://" not in link]

    assert relative
    assert [
        f"{page.relative_to(ROOT)}: {link}"
        for page, link in relative
        if not (page.parent / link.partition("#")[0]).exists()
    ] == []


def test_commands_and_options_that_pages_name_exist() -> None:
    named = [(page, words) for page in PAGES for words in _commands_in(page)]

    assert named
    assert [
        f"{page.relative_to(ROOT)}: penstock {' '.join(words)}: {problem}"
        for page, words in named
        if (problem := _problem(words))
    ] == []


def test_targets_that_pages_name_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = [
        (page, target)
        for page in PAGES
        for code in CODE.findall(page.read_text())
        for _, target in MAKE.findall(code)
    ]

    assert named
    assert [f"{page.name}: make {target}" for page, target in named if target not in targets] == []


def test_the_table_of_contents_names_pages_that_exist() -> None:
    named = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)

    assert named
    assert [page for page in named if not (ROOT / "docs" / page).exists()] == []


def _commands_in(page: Path) -> Iterator[list[str]]:
    for code in CODE.findall(page.read_text()):
        for command in PENSTOCK.findall(code):
            yield command.split()


def _problem(words: list[str]) -> str | None:
    """Return what is wrong with the command line `penstock WORDS`, or None."""
    command: click.Command = cli
    context = click.Context(cli)
    options: set[str] = set()
    configured: click.Command | None = None
    for word in words:
        options |= {name for parameter in command.params for name in parameter.opts}
        if word.startswith("-"):
            name = word.partition("=")[0]
            if name not in {*options, "--help", "-h"}:
                return f"no option {name}"
            configured = command  # what follows may be the option's value
        elif isinstance(command, click.Group) and not (
            command.invoke_without_command and command is configured
        ):
            # `stop|kill|start` stands for each of them.
            found = [command.get_command(context, name) for name in word.split("|")]
            if None in found:
                return f"no command {word}"
            command = found[0] or command
    return None
