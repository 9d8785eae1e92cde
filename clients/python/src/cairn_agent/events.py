"""Event streams that outlive their connections.

Only complete frames count: a frame that a disconnect cut off is sent again, because the next connection
starts at the cursor of the last event that was returned. Nothing here reads or waits; the clients do.
"""

from __future__ import annotations

import codecs
import json
import random
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, cast

from ._types import SessionEvent
from .errors import ApiError, CairnError

#: Seconds without a byte after which a connection is dead. The server sends a heartbeat every 10 seconds.
IDLE_TIMEOUT = 25.0


class StreamError(CairnError):
    """The stream broke the protocol."""


@dataclass
class Frame:
    """A frame of Server-Sent Events."""

    id: str = ""
    event: str = ""
    data: str = ""


@dataclass
class FrameParser:
    """Splits bytes into frames, wherever they are cut."""

    #: Milliseconds that the server asks readers to wait before they connect again.
    retry_ms: Optional[int] = None
    _decoder: Any = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))
    _rest: str = ""
    _frame: Frame = field(default_factory=Frame)
    _data: List[str] = field(default_factory=lambda: cast("List[str]", []))

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        text = self._rest + self._decoder.decode(chunk)
        # A carriage return at the end may be half of a line break.
        end = len(text) - 1 if text.endswith("\r") else len(text)
        lines = text[:end].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + text[end:]
        for line in lines:
            frame = self._line(line)
            if frame is not None:
                yield frame

    def _line(self, line: str) -> Optional[Frame]:
        if line == "":
            frame, self._frame = self._frame, Frame()
            if not self._data:
                return None
            frame.data = "\n".join(self._data)
            self._data.clear()
            return frame
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._frame.id = value
        elif name == "event":
            self._frame.event = value
        elif name == "retry" and value.isdigit():
            self.retry_ms = int(value)
        return None


@dataclass
class Follower:
    """The state of one iteration over a log: its cursor, and how long to wait after a failure."""

    session_id: str
    cursor: int
    base_delay: float = 1.0
    max_delay: float = 30.0
    _fruitless: int = 0

    def accept(self, frame: Frame) -> Optional[SessionEvent]:
        """The event of a frame; None for one that was returned before."""
        record: Any = json.loads(frame.data)
        if not isinstance(record, dict):
            raise StreamError(f"Expected an event, got {frame.data[:80]}")
        event = cast("Dict[str, Any]", record)
        if event.get("session_id") != self.session_id or str(event.get("id")) != frame.id:
            raise StreamError(f"Frame {frame.id!r} of session {self.session_id} has event {event.get('id')}")
        if int(event["id"]) <= self.cursor:
            return None
        self.cursor = int(event["id"])
        self._fruitless = 0
        return cast("SessionEvent", event)

    def delay_after(self, failure: Optional[BaseException], retry_ms: Optional[int]) -> float:
        """Seconds until the next connection. Raises a failure that is final."""
        if isinstance(failure, StreamError) or (isinstance(failure, ApiError) and not failure.retryable):
            raise failure
        if retry_ms is not None:
            self.base_delay = retry_ms / 1000
        full = min(self.max_delay, self.base_delay * 2.0 ** min(self._fruitless, 30))
        self._fruitless += 1
        asked = failure.retry_after if isinstance(failure, ApiError) and failure.retry_after else 0.0
        return max(asked, full * (0.5 + random.random() / 2))
