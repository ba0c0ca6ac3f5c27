"""Schemas of the registry: versions, differences, tests of compatibility, and who uses them."""

from penstock.console.parts import Parts
from penstock.console.schemas.actions import ACTIONS
from penstock.console.schemas.pages import SCHEMAS, SUBJECT

PARTS = Parts(pages=(SCHEMAS, SUBJECT), actions=ACTIONS)
