"""Alerts: what fires, what is silenced, the rules, and whether messages arrive."""

from penstock.console.alerts.actions import END_SILENCE, SILENCE
from penstock.console.alerts.pages import ALERTS
from penstock.console.parts import Parts

PARTS = Parts(pages=(ALERTS,), actions=(SILENCE, END_SILENCE))
