"""Metrics: for Prometheus, for programs that query them, and for people who explore them."""

from penstock.console.metrics.endpoints import EXPOSITION, QUERY
from penstock.console.metrics.pages import EXPLORER
from penstock.console.metrics.service_levels import SERVICE_LEVELS
from penstock.console.parts import Parts

PARTS = Parts(pages=(EXPLORER, SERVICE_LEVELS), endpoints=(EXPOSITION, QUERY))
