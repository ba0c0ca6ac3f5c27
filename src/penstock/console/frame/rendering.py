"""Jinja: templates that escape what they show, with the words and drawings of the console."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from penstock.console.access.roles import Role
from penstock.console.frame import charts, words
from penstock.console.frame.past import recent
from penstock.monitoring.catalog import Unit
from penstock.monitoring.frames import FRAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

STATIC = files("penstock.console") / "static"


def _quoted(text: object) -> str:
    """Return `text` as one segment of a path."""
    return quote(str(text), safe="")


def environment() -> Environment:
    """Return where templates are found, and what they may use."""
    found = Environment(
        loader=PackageLoader("penstock.console", "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "amount": lambda value, unit: words.amount(value, Unit(unit)),
        "count": words.count,
        "duration": words.duration,
        "moment": words.moment,
        "path": _quoted,
        "said": words.said,
    }
    found.globals |= {
        "age": words.age,
        "recent": recent,
        "sparkline": charts.sparkline,
        "line_chart": charts.line_chart,
        "stacked_chart": charts.stacked_chart,
        "FRAMES": FRAMES,
        "Role": Role,
        "Unit": Unit,
        "version_of_static": _version_of_static(),
    }
    # Blocks that are drawn alone do not see what a template imports.
    found.globals["ui"] = found.get_template("macros.html").module
    return found


@dataclass(frozen=True, slots=True)
class Renderer:
    """Draws pages, and parts of them."""

    templates: Environment

    def page(self, template: str, variables: Mapping[str, Any]) -> str:
        """Return the whole page."""
        return self.templates.get_template(template).render(variables)

    def blocks(
        self, template: str, names: tuple[str, ...], variables: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return some blocks of the page by name; what surrounds them is not drawn."""
        found = self.templates.get_template(template)
        context = found.new_context(dict(variables))
        return {name: "".join(found.blocks[name](context)) for name in names}


def _version_of_static() -> str:
    """Return what changes with any static file, so that browsers may keep them for ever."""
    digest = sha256()
    for item in sorted(STATIC.iterdir(), key=lambda item: item.name):
        digest.update(item.read_bytes())
    return digest.hexdigest()[:12]
