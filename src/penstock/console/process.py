"""The process that serves the console of a platform.

Started by the supervisor as `python -m penstock.console.process -Dpenstock.platform=FOLDER`, beside
the brokers and not after them: what takes its time here is importing, and Kafka is waited for.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from penstock.console.server import Serving, serve
from penstock.console.world import Place
from penstock.errors import PenstockError
from penstock.kafka import Connection
from penstock.local.folder import PlatformFolder
from penstock.local.processes import MARKER
from penstock.local.web_part import CONSOLE, REGISTRY, log_to
from penstock.settings import DEFAULT_PROFILE, Settings, load_settings

logger = logging.getLogger(__name__)


def main(argument: str) -> int:
    """Serve the console of the platform whose folder stands behind the marker in `argument`."""
    folder = PlatformFolder(Path(argument.removeprefix(MARKER)))
    log_to(folder.folders.log(CONSOLE))
    try:
        settings = platform_settings(folder)
        serving = Serving.of(settings, port=folder.load_web_part(CONSOLE).port)
        connection = Connection(bootstrap=folder.load_shape().bootstrap)
        place = Place.of(settings, connection, folder=folder.root / "console")
        serve(place, serving, on_ready=lambda url: logger.info("ready at %s", url))
    except PenstockError as err:
        logger.error("%s", err.message)  # noqa: TRY400 - the supervisor shows this line
        return err.exit_status
    logger.info("stopped")
    return 0


def platform_settings(folder: PlatformFolder) -> Settings:
    """Return what `penstock.toml` says, as `up` found it, but for this platform's own addresses."""
    file = folder.load_launch().settings_file
    return load_settings(
        {
            "profile": DEFAULT_PROFILE,
            "platform.name": folder.root.name,
            "platform.data_dir": str(folder.root.parents[1]),
            "bootstrap": folder.load_shape().bootstrap,
            "security_protocol": "PLAINTEXT",
            "registry.url": folder.load_web_part(REGISTRY).url,
        },
        start=file.parent if file else folder.root,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
