"""Topics: what they hold, who reads them, what they are set to, and changing them."""

from penstock.console.parts import Parts
from penstock.console.topics.actions import ADD_PARTITIONS, ALTER, CREATE, DELETE, PURGE
from penstock.console.topics.list_page import TOPICS
from penstock.console.topics.one_page import TOPIC
from penstock.console.topics.settings_page import SETTINGS

PARTS = Parts(
    pages=(TOPICS, SETTINGS, TOPIC), actions=(CREATE, ALTER, ADD_PARTITIONS, PURGE, DELETE)
)
