"""The process that serves the registry of a platform.

Started by the supervisor as `python -m penstock.local.registry_process -Dpenstock.platform=FOLDER`,
beside the brokers and not after them: what takes its time here is importing, not Kafka.
"""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from penstock.errors import PenstockError
from penstock.kafka import Connection
from penstock.local.folder import PlatformFolder
from penstock.local.ports import HOST
from penstock.local.processes import MARKER
from penstock.local.registry_part import REGISTRY
from penstock.registry.server import Serving, serve
from penstock.settings import DEFAULT_SCHEMAS_TOPIC

logger = logging.getLogger(__name__)


def main(argument: str) -> int:
    """Serve the registry of the platform whose folder stands behind the marker in `argument`."""
    folder = PlatformFolder(Path(argument.removeprefix(MARKER)))
    _log_to(folder.folders.log(REGISTRY))
    serving = Serving(
        topic=DEFAULT_SCHEMAS_TOPIC,
        host=HOST,
        port=folder.load_registry().port,
        waits_for_kafka=True,
    )
    connection = Connection(bootstrap=folder.load_shape().bootstrap)
    try:
        serve(connection, serving, on_ready=lambda url: logger.info("ready at %s", url))
    except PenstockError as err:
        logger.error("%s", err.message)  # noqa: TRY400 - the supervisor shows this line
        return err.exit_status
    logger.info("stopped")
    return 0


def _log_to(path: Path) -> None:
    handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=2, encoding="utf-8")
    layout = "[%(asctime)s] %(levelname)s %(message)s %(reason)s (%(name)s)"
    handler.setFormatter(logging.Formatter(layout, defaults={"reason": ""}))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
