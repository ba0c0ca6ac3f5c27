"""Records: browsing a topic, one record, producing, exporting; what is masked for whom."""

from penstock.console.parts import Parts
from penstock.console.records.actions import AGAIN, PRODUCE
from penstock.console.records.exporting import BYTES, EXPORT
from penstock.console.records.pages import RECORD, RECORDS
from penstock.console.records.searching import SEARCH

PARTS = Parts(
    pages=(RECORDS, RECORD),
    actions=(PRODUCE, AGAIN),
    endpoints=(SEARCH, EXPORT, BYTES),
)
