"""Alerts: rules over metrics, what becomes of them, silences, and where they are told."""

from penstock.monitoring.alerts.deliveries import Delivery, open_deliveries
from penstock.monitoring.alerts.errors import (
    ImpossibleSilenceError,
    NoDeliveryError,
    UnknownSilenceError,
)
from penstock.monitoring.alerts.readings import HistoryReadings, Readings, UnkeptReadings
from penstock.monitoring.alerts.ready_made import READY_MADE
from penstock.monitoring.alerts.rules import Comparison, Rule, RuleName, Severity, rules_of, shown
from penstock.monitoring.alerts.silences import Silence, SilenceId, new_silence
from penstock.monitoring.alerts.states import Alert, DeliveryName, Past, Phase
from penstock.monitoring.alerts.table import ALERTS_TOPIC, AlertTable, DeliveryResult, Duty
from penstock.monitoring.alerts.trying import Trial, try_deliveries
from penstock.monitoring.alerts.views import AlertsView, AlertView, stored_view
from penstock.monitoring.alerts.watch import AlertWatch

__all__ = [
    "ALERTS_TOPIC",
    "READY_MADE",
    "Alert",
    "AlertTable",
    "AlertView",
    "AlertWatch",
    "AlertsView",
    "Comparison",
    "Delivery",
    "DeliveryName",
    "DeliveryResult",
    "Duty",
    "HistoryReadings",
    "ImpossibleSilenceError",
    "NoDeliveryError",
    "Past",
    "Phase",
    "Readings",
    "Rule",
    "RuleName",
    "Severity",
    "Silence",
    "SilenceId",
    "Trial",
    "UnkeptReadings",
    "UnknownSilenceError",
    "new_silence",
    "open_deliveries",
    "rules_of",
    "shown",
    "stored_view",
    "try_deliveries",
]
