"""Drawings of a pipeline's graph: as text for a terminal, and as SVG."""

from penstock.pipeline.drawings.layout import Layout, PlacedEdge, PlacedNode, Point, lay_out
from penstock.pipeline.drawings.svg import as_part, as_svg
from penstock.pipeline.drawings.text import as_text

__all__ = [
    "Layout",
    "PlacedEdge",
    "PlacedNode",
    "Point",
    "as_part",
    "as_svg",
    "as_text",
    "lay_out",
]
