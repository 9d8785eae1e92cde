"""A client of Cairn, a server for durable agent sessions."""

from ._types import SessionEvent
from .client import AsyncClient, Client
from .errors import ApiError, CairnError, ConnectionFailed
from .events import StreamError
from .turns import Turn

__all__ = [
    "ApiError",
    "AsyncClient",
    "CairnError",
    "Client",
    "ConnectionFailed",
    "SessionEvent",
    "StreamError",
    "Turn",
]
