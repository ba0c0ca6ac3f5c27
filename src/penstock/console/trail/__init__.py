"""The trail: who did what, when, from where, and what came of it."""

from penstock.console.parts import Parts
from penstock.console.trail.pages import TRAIL

PARTS = Parts(pages=(TRAIL,))
