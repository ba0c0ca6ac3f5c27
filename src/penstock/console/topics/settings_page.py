"""What a topic is set to: each config with the value in force and its source."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.console.configs import ConfigLine, config_list
from penstock.console.frame import LISTING, Listing, Page
from penstock.console.topics.finding import name_of
from penstock.kafka import Admin, ensure_exist, is_internal, topic_configs

if TYPE_CHECKING:
    from penstock.console.frame import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigs:
    """One page of the configs of a topic."""

    topic: str
    is_internal: bool
    configs: Listing[ConfigLine]


def load(ask: Ask) -> TopicConfigs:
    """Return the configs as they are now.

    Raises:
        UnknownTopicError: there is no such topic.
        NotAuthorizedError: this console's user may not see its configs.
    """
    name = name_of(ask)
    with Admin(ask.world.connection) as admin:
        ensure_exist(admin, [name])
        entries = topic_configs(admin, [name])[name]
    return TopicConfigs(
        topic=name, is_internal=is_internal(name), configs=config_list(entries, ask)
    )


SETTINGS = Page(
    path="/topics/{topic}/configs",
    name="list_topic_configs",
    summary="All configs of a topic with the value in force and its source.",
    template="topics/configs.html",
    model=TopicConfigs,
    load=load,
    title=lambda model: f"Configs of {model.topic}",
    command=lambda ask, _model: shlex.join(
        ["penstock", "topics", "describe", name_of(ask), "--all-configs"]
    ),
    parameters=LISTING,
    menu="Topics",
)
