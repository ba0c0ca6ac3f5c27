"""The demonstration: the fraud pipeline, traffic counted by its own sender, and a check."""

from penstock.demo.checking import Check
from penstock.demo.demonstration import (
    Conductor,
    DemoFailedError,
    Result,
    examine,
    examine_running,
    project_folder,
)
from penstock.demo.generator import HostWindow, Tally, Traffic, generate
from penstock.demo.lines import BLOCKED_OCTETS, Breakage, Line, LineMaker

__all__ = [
    "BLOCKED_OCTETS",
    "Breakage",
    "Check",
    "Conductor",
    "DemoFailedError",
    "HostWindow",
    "Line",
    "LineMaker",
    "Result",
    "Tally",
    "Traffic",
    "examine",
    "examine_running",
    "generate",
    "project_folder",
]
