"""What a command means for a flow in its state: a wish that the loop fulfils, or a refusal.

Decisions only, as in `supervision.py`; who acts on them is in `supervisor.py`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from penstock.control.command_errors import WrongStateError
from penstock.control.commands import Kill, Pause, Restart, Resume, Stop
from penstock.control.supervision import FlowState, Wish

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.control.commands import FlowCommand
    from penstock.control.supervision import FlowSupervision
    from penstock.names import FlowName

_PARTICIPLES = {
    "stop": "stopped",
    "kill": "stopped",
    "pause": "paused",
    "resume": "resumed",
    "restart": "restarted",
}


def wish_of(command: FlowCommand, name: FlowName, flow: FlowSupervision) -> Wish:
    """Return what `command` wants to become of a flow.

    Raises:
        WrongStateError: it means nothing for a flow in this state.
    """
    match command:
        case Pause() if not flow.is_over:
            return Wish.PAUSE
        case Resume() if _may_be_resumed(flow):
            return Wish.RESTART
        case Stop() | Kill() if flow.is_held or not flow.is_over:
            return Wish.STOP
        case Restart():
            return Wish.RESTART
        case _:
            raise refusal(command, name, flow)


def refusal(command: FlowCommand, name: FlowName, flow: FlowSupervision) -> WrongStateError:
    """Return why `command` means nothing for a flow in its state."""
    if flow.is_held:
        hint = f"`penstock resume PIPELINE --flow {name}` lets it go on"
    elif flow.is_over:
        hint = f"`penstock restart PIPELINE --flow {name}` starts it again, on its checkpoint"
    else:
        hint = f"`penstock pause PIPELINE --flow {name}` would pause it"
    return WrongStateError(name, flow.state, wish=_PARTICIPLES[command.verb], hint=hint)


def is_meant(command: FlowCommand, flow: FlowSupervision) -> bool:
    """Return whether a command to all flows is for this one: others are left as they are."""
    match command:
        case Pause():
            return not flow.is_over
        case Resume():
            # A flow that was stopped alone is none of the pause of all.
            return flow.state is FlowState.PAUSED or flow.wish is Wish.PAUSE
        case _:
            return True


def told_together(phrases: Iterable[tuple[FlowName, str]]) -> str:
    """Return one sentence of what was begun with each flow; a phrase has `{}` for the names."""
    by_phrase: defaultdict[str, list[FlowName]] = defaultdict(list)
    for name, phrase in phrases:
        by_phrase[phrase].append(name)
    return "; ".join(
        phrase.format(", ".join(f"`{name}`" for name in names))
        for phrase, names in by_phrase.items()
    )


def _may_be_resumed(flow: FlowSupervision) -> bool:
    is_resting = flow.state is FlowState.PAUSED or flow.is_held
    return is_resting or flow.wish in (Wish.PAUSE, Wish.STOP)
