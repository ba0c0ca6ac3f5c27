"""The process that serves the registry of a platform.

Started by the supervisor as `python -m penstock.local.registry_process -Dpenstock.platform=FOLDER`,
beside the brokers and not after them: what takes its time here is importing, not Kafka.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from penstock.errors import PenstockError
from penstock.kafka import Connection
from penstock.local.folder import PlatformFolder
from penstock.local.processes import MARKER
from penstock.local.web_part import REGISTRY, log_to
from penstock.registry.server import Serving, serve
from penstock.settings import DEFAULT_SCHEMAS_TOPIC

logger = logging.getLogger(__name__)


def main(argument: str) -> int:
    """Serve the registry of the platform whose folder stands behind the marker in `argument`."""
    folder = PlatformFolder(Path(argument.removeprefix(MARKER)))
    log_to(folder.folders.log(REGISTRY))
    place = folder.load_web_part(REGISTRY)
    serving = Serving(
        topic=DEFAULT_SCHEMAS_TOPIC, host=place.host, port=place.port, waits_for_kafka=True
    )
    connection = Connection(bootstrap=folder.load_shape().bootstrap)
    try:
        serve(connection, serving, on_ready=lambda url: logger.info("ready at %s", url))
    except PenstockError as err:
        logger.error("%s", err.message)  # noqa: TRY400 - the supervisor shows this line
        return err.exit_status
    logger.info("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
