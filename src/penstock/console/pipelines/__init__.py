"""Pipelines and their flows: how they do, how they did, and what can be done with them."""

from penstock.console.parts import Parts
from penstock.console.pipelines.actions import ACTIONS
from penstock.console.pipelines.pages import FLOW, OUTPUT, PIPELINE, PIPELINES

PARTS = Parts(pages=(PIPELINES, PIPELINE, FLOW, OUTPUT), actions=ACTIONS)
