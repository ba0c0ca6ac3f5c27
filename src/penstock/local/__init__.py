"""The platform on one machine: a real Kafka as child processes of a small supervisor."""

from penstock.settings import PlatformSettings


def bootstrap_of(platform: PlatformSettings) -> str:
    """Return the address of the running platform."""
    return f"127.0.0.1:{platform.port or 9092}"
