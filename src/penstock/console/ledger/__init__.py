"""What each flow has written, batch by batch, and whether it adds up."""

from penstock.console.ledger.pages import BATCHES, LEDGER, PIPELINE
from penstock.console.parts import Parts

PARTS = Parts(pages=(LEDGER, PIPELINE, BATCHES))
