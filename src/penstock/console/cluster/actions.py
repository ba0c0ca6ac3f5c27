"""Changing the dynamic configs of one broker, or of all of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from penstock.console.access.roles import Role
from penstock.console.cluster.configs_page import target_of
from penstock.console.configs import ConfigForm, alterations, preview, told
from penstock.console.frame import Action, Question
from penstock.kafka import Admin, OneBroker, apply_broker_configs, plan_broker_configs

if TYPE_CHECKING:
    from penstock.console.frame import Ask


def _question(ask: Ask, form: ConfigForm) -> Question:
    target, asked = target_of(ask), alterations(form)
    with Admin(ask.world.connection) as admin:
        current = plan_broker_configs(admin, target, asked)
    names = [item.name for item in asked]
    count = f"{len(asked)} config{'' if len(asked) == 1 else 's'}"
    return Question(
        sentence=f"Change {count} of {target}, while it runs; that survives restarts.",
        button="Change",
        preview=preview(asked, dict(zip(names, current, strict=True))),
    )


def _perform(ask: Ask, form: ConfigForm) -> str:
    target, asked = target_of(ask), alterations(form)
    with Admin(ask.world.connection) as admin:
        plan_broker_configs(admin, target, asked)
        changes = apply_broker_configs(admin, target, asked)
    return f"The configs of {target} were changed: {told(changes)}."


def _target(ask: Ask) -> str:
    return f"broker {ask.path['broker']}" if "broker" in ask.path else "all brokers"


def _command(ask: Ask, form: ConfigForm) -> str:
    target, asked = target_of(ask), alterations(form)
    whose = ["--broker", str(target.broker_id)] if isinstance(target, OneBroker) else ["--default"]
    settings = [f"{item.name}={item.value}" for item in asked if item.value is not None]
    removals = [item.name for item in asked if item.value is None]
    commands = [
        shlex.join(["penstock", "cluster", "config", verb, *words, *whose])
        for verb, words in (("set", settings), ("unset", removals))
        if words
    ]
    return " && ".join(commands)


ALTER_BROKER = Action(
    path="/cluster/brokers/{broker}/alter",
    name="alter_broker",
    summary="Set and remove dynamic configs of a broker.",
    form=ConfigForm,
    question=_question,
    perform=_perform,
    target=_target,
    back=lambda ask: f"/cluster/brokers/{ask.path['broker']}/configs",
    command=_command,
    title="Change configs of the broker",
    role=Role.ADMIN,
    menu="Cluster",
)

ALTER_ALL = Action(
    path="/cluster/alter",
    name="alter_all_brokers",
    summary="Set and remove the dynamic configs that hold for all brokers.",
    form=ConfigForm,
    question=_question,
    perform=_perform,
    target=_target,
    back=lambda _ask: "/cluster/configs",
    command=_command,
    title="Change configs of all brokers",
    role=Role.ADMIN,
    menu="Cluster",
)
