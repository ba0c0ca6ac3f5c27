"""The demonstration: traffic for the fraud pipeline, counted by its own sender."""

from penstock.demo.generator import HostWindow, Tally, Traffic, generate
from penstock.demo.lines import BLOCKED_OCTETS, Breakage, Line, LineMaker

__all__ = [
    "BLOCKED_OCTETS",
    "Breakage",
    "HostWindow",
    "Line",
    "LineMaker",
    "Tally",
    "Traffic",
    "generate",
]
