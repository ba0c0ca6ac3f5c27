"""The cluster: brokers, the quorum of controllers, what is wrong, and configs of brokers."""

from penstock.console.cluster.actions import ALTER_ALL, ALTER_BROKER
from penstock.console.cluster.broker_page import BROKER
from penstock.console.cluster.configs_page import BROKER_CONFIGS, SHARED_CONFIGS
from penstock.console.cluster.overview_page import CLUSTER
from penstock.console.cluster.partitions_page import PARTITIONS
from penstock.console.parts import Parts

PARTS = Parts(
    pages=(CLUSTER, PARTITIONS, BROKER, BROKER_CONFIGS, SHARED_CONFIGS),
    actions=(ALTER_BROKER, ALTER_ALL),
)
