"""Secrets of the settings, kept out of sentences that others can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.settings import MASK, shown_conf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.control.status_fold import Clean
    from penstock.settings import Settings

_SHORTEST = 4
"""A shorter secret is found within words that have nothing to do with it."""


def cleaner(settings: Settings) -> Clean:
    """Return what replaces the secrets of `settings` wherever a sentence quotes them."""
    # The longest first: one secret may be the beginning of another.
    secrets = sorted({*_secrets(settings)}, key=len, reverse=True)

    def clean(sentence: str) -> str:
        for secret in secrets:
            sentence = sentence.replace(secret, MASK)
        return sentence

    return clean


def _secrets(settings: Settings) -> Iterator[str]:
    cluster, conf = settings.cluster, settings.spark.conf
    given = (cluster.sasl_password, cluster.ssl_key_password)
    hidden = (conf[key] for key, shown in shown_conf(conf).items() if shown == MASK)
    for secret in (*(item.get_secret_value() for item in given if item), *hidden):
        if len(secret) >= _SHORTEST:
            yield secret
