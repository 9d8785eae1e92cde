"""What most programs need: where a turn ends, what it answered, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, cast

from ._types import InboxItem, SessionEvent

#: Types that end a turn.
_ENDS = ("session.complete", "session.fail", "session.stopped", "session.pause")
#: Types after which the turn waits for a person.
_WAITS = ("inbox.input_required", "inbox.action_required")


@dataclass
class Turn:
    """The outcome of a turn."""

    #: `completed`, `failed`, `stopped`, `paused`, or `waiting` for a person.
    state: str
    #: The last visible answer; empty if there is none.
    text: str
    #: Why a turn failed or stopped.
    reason: str
    events: List[SessionEvent]
    #: Id of the last event: the cursor for the next turn.
    last_id: int
    #: Approvals that the agent asked for and nobody has decided. The turn goes on without them.
    approvals: List[InboxItem] = field(default_factory=lambda: cast("List[InboxItem]", []))


class TurnReader:
    """Collects the events of a turn until it ends or waits."""

    def __init__(self, after: int) -> None:
        self._events: List[SessionEvent] = []
        self._text = ""
        self._last_id = after
        self.gates: List[int] = []

    def add(self, event: SessionEvent) -> Optional[Turn]:
        """The turn, if this event ends it."""
        record = cast("Mapping[str, Any]", event)
        data = cast("Mapping[str, Any]", record["data"])
        kind = str(record["type"])
        self._last_id = int(record["id"])
        if kind == "llm.delta":
            return None
        self._events.append(event)
        if kind == "llm.response" and data["message"]["content"].strip():
            self._text = str(data["message"]["content"])
        if kind == "inbox.governance_gate":
            self.gates.append(self._last_id)
        if kind in _WAITS:
            return self._turn("waiting", kind)
        if kind in _ENDS:
            state = {"session.complete": "completed", "session.fail": "failed", "session.pause": "paused"}
            reason = str(data.get("error") or data.get("reason") or "")
            return self._turn(state.get(kind, "stopped"), reason)
        return None

    def _turn(self, state: str, reason: str) -> Turn:
        return Turn(state, self._text, reason, self._events, self._last_id)
