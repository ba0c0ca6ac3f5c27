"""Consumer groups: how far behind each is, what it will lose when, and moving it."""

from penstock.console.groups.actions import DELETE, RESET
from penstock.console.groups.list_page import GROUPS
from penstock.console.groups.one_page import GROUP
from penstock.console.groups.table import PARTITIONS_TABLE
from penstock.console.parts import Parts

PARTS = Parts(pages=(GROUPS, GROUP), actions=(RESET, DELETE), endpoints=(PARTITIONS_TABLE,))
