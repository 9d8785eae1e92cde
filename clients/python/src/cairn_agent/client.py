"""The synchronous and the asynchronous client."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, Type, cast
from urllib.parse import quote

import httpx

from ._operations import AsyncOperations, Operations
from ._types import InboxItem, SessionEvent
from .errors import ApiError, ConnectionFailed, read_failure
from .events import IDLE_TIMEOUT, Follower, FrameParser, StreamError
from .turns import Turn, TurnReader

_TIMEOUT = httpx.Timeout(30.0, connect=10.0)
_STREAM_TIMEOUT = httpx.Timeout(IDLE_TIMEOUT, connect=10.0)
#: How often a request is repeated that may be repeated: a read, or a write with an Idempotency-Key.
_RETRIES = 4


class _Paths:
    """What both clients know: the address, the token, and how a route becomes a request."""

    def __init__(self, base_url: str, token: str, api: Optional[bool]) -> None:
        self._base = base_url.rstrip("/")
        self._headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        # Tokens of service accounts are accepted below /v1/api only.
        self._api = token.startswith("cairn_sk_") if api is None else api

    def url(self, path: str, has_alias: bool, params: Mapping[str, str]) -> str:
        filled = path
        for name, value in params.items():
            if value == "":
                raise ValueError(f"{name} must not be empty")
            filled = filled.replace("{" + name + "}", quote(value, safe=""))
        return f"{self._base}{'/v1/api' if self._api and has_alias else '/v1'}{filled}"

    def request(
        self,
        method: str,
        path: str,
        has_alias: bool,
        params: Mapping[str, str],
        query: Optional[Mapping[str, Any]],
        body: Any,
        key: Optional[str],
    ) -> Dict[str, Any]:
        headers = {**self._headers, **({"idempotency-key": key} if key is not None else {})}
        given: Dict[str, Any] = {"method": method, "url": self.url(path, has_alias, params), "headers": headers}
        if query:
            given["params"] = {name: _text(value) for name, value in query.items() if value is not None}
        if body is not None:
            given["json"] = body
        return given

    def stream(self, session_id: str, cursor: int) -> Dict[str, Any]:
        headers = {**self._headers, "accept": "text/event-stream"}
        url = self.url("/sessions/{id}/events", True, {"id": session_id})
        return {"method": "GET", "url": url, "headers": headers, "params": {"after": str(cursor)}}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _answer(response: httpx.Response) -> Any:
    if response.status_code >= 300:
        raise read_failure(response.status_code, response.headers, response.text, time.time())
    return None if response.status_code == 204 or not response.content else response.json()


def _may_repeat(method: str, key: Optional[str]) -> bool:
    return method == "GET" or key is not None


def _delay(failure: Exception, attempt: int) -> float:
    asked = failure.retry_after if isinstance(failure, ApiError) and failure.retry_after else 0.0
    return max(asked, min(8.0, 0.25 * 2.0**attempt))


def _is_last(failure: Exception, attempt: int, repeats: bool) -> bool:
    final = isinstance(failure, ApiError) and not failure.retryable
    return final or not repeats or attempt >= _RETRIES


def _check_stream(response: httpx.Response) -> None:
    kind = response.headers.get("content-type", "")
    if not kind.startswith("text/event-stream"):
        raise StreamError(f"{response.url}: expected text/event-stream, got {kind or 'no content type'}")


def _pending(items: List[InboxItem], gates: List[int]) -> List[InboxItem]:
    return [item for item in items if item["source_event_id"] in gates and item["status"] == "pending"]


class Client(Operations):
    """A client of a Cairn server. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8787",
        token: str = "",
        *,
        api: Optional[bool] = None,
        transport: Optional[httpx.BaseTransport] = None,
    ) -> None:
        self._paths = _Paths(base_url, token, api)
        self._http = httpx.Client(timeout=_TIMEOUT, transport=transport)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _call(
        self,
        method: str,
        path: str,
        has_alias: bool,
        params: Mapping[str, str],
        query: Optional[Mapping[str, Any]],
        body: Any,
        key: Optional[str] = None,
    ) -> Any:
        given = self._paths.request(method, path, has_alias, params, query, body, key)
        attempt = 0
        while True:
            try:
                return _answer(self._http.request(**given))
            except (ApiError, httpx.TransportError) as error:
                if _is_last(error, attempt, _may_repeat(method, key)):
                    if isinstance(error, ApiError):
                        raise
                    raise ConnectionFailed(f"{given['url']} did not respond: {error}") from error
                time.sleep(_delay(error, attempt))
                attempt += 1

    def events(self, session_id: str, after: int = 0) -> Iterator[SessionEvent]:
        """Each event of a log after a cursor, once and in order, for as long as the caller reads."""
        follower = Follower(session_id, after)
        while True:
            failure: Optional[Exception] = None
            parser = FrameParser()
            try:
                given = self._paths.stream(session_id, follower.cursor)
                with self._http.stream(**given, timeout=_STREAM_TIMEOUT) as response:
                    if response.status_code >= 300:
                        response.read()
                        _answer(response)
                    _check_stream(response)
                    for chunk in response.iter_raw():
                        for frame in parser.feed(chunk):
                            event = follower.accept(frame)
                            if event is not None:
                                yield event
            except (ApiError, StreamError, httpx.TransportError) as error:
                failure = error
            time.sleep(follower.delay_after(failure, parser.retry_ms))

    def wait(self, session_id: str, after: int = 0) -> Turn:
        """Reads until the turn after a cursor ends or waits for a person."""
        reader = TurnReader(after)
        for event in self.events(session_id, after):
            turn = reader.add(event)
            if turn is not None:
                if reader.gates:
                    turn.approvals = _pending(self._items(session_id), reader.gates)
                return turn
        raise ConnectionFailed(f"The stream of session {session_id} ended")

    def ask(self, session_id: str, content: str) -> Turn:
        """Sends a message, and reads until its turn ends or waits for a person."""
        sent = self.send_message(session_id, content=content)
        return self.wait(session_id, sent["event_id"])

    def approve(self, item: InboxItem) -> InboxItem:
        """Approves the call of an inbox item as it was shown."""
        return self.respond_inbox(item["id"], _decision(item, "approve"))

    def reject(self, item: InboxItem) -> InboxItem:
        """Rejects the call of an inbox item."""
        return self.respond_inbox(item["id"], _decision(item, "reject"))

    def _items(self, session_id: str) -> List[InboxItem]:
        query = cast("Dict[str, Any]", {"session_id": session_id})
        return cast("List[InboxItem]", self._call("GET", "/inbox", True, {}, query, None)["items"])


class AsyncClient(AsyncOperations):
    """A client of a Cairn server for asyncio. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        base_url: str = "http://127.0.0.1:8787",
        token: str = "",
        *,
        api: Optional[bool] = None,
        transport: Optional[httpx.AsyncBaseTransport] = None,
    ) -> None:
        self._paths = _Paths(base_url, token, api)
        self._http = httpx.AsyncClient(timeout=_TIMEOUT, transport=transport)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def _call(
        self,
        method: str,
        path: str,
        has_alias: bool,
        params: Mapping[str, str],
        query: Optional[Mapping[str, Any]],
        body: Any,
        key: Optional[str] = None,
    ) -> Any:
        given = self._paths.request(method, path, has_alias, params, query, body, key)
        attempt = 0
        while True:
            try:
                return _answer(await self._http.request(**given))
            except (ApiError, httpx.TransportError) as error:
                if _is_last(error, attempt, _may_repeat(method, key)):
                    if isinstance(error, ApiError):
                        raise
                    raise ConnectionFailed(f"{given['url']} did not respond: {error}") from error
                await asyncio.sleep(_delay(error, attempt))
                attempt += 1

    async def events(self, session_id: str, after: int = 0) -> AsyncIterator[SessionEvent]:
        """Each event of a log after a cursor, once and in order, for as long as the caller reads."""
        follower = Follower(session_id, after)
        while True:
            failure: Optional[Exception] = None
            parser = FrameParser()
            try:
                given = self._paths.stream(session_id, follower.cursor)
                async with self._http.stream(**given, timeout=_STREAM_TIMEOUT) as response:
                    if response.status_code >= 300:
                        await response.aread()
                        _answer(response)
                    _check_stream(response)
                    async for chunk in response.aiter_raw():
                        for frame in parser.feed(chunk):
                            event = follower.accept(frame)
                            if event is not None:
                                yield event
            except (ApiError, StreamError, httpx.TransportError) as error:
                failure = error
            await asyncio.sleep(follower.delay_after(failure, parser.retry_ms))

    async def wait(self, session_id: str, after: int = 0) -> Turn:
        """Reads until the turn after a cursor ends or waits for a person."""
        reader = TurnReader(after)
        async for event in self.events(session_id, after):
            turn = reader.add(event)
            if turn is not None:
                if reader.gates:
                    turn.approvals = _pending(await self._items(session_id), reader.gates)
                return turn
        raise ConnectionFailed(f"The stream of session {session_id} ended")

    async def ask(self, session_id: str, content: str) -> Turn:
        """Sends a message, and reads until its turn ends or waits for a person."""
        sent = await self.send_message(session_id, content=content)
        return await self.wait(session_id, sent["event_id"])

    async def approve(self, item: InboxItem) -> InboxItem:
        """Approves the call of an inbox item as it was shown."""
        return await self.respond_inbox(item["id"], _decision(item, "approve"))

    async def reject(self, item: InboxItem) -> InboxItem:
        """Rejects the call of an inbox item."""
        return await self.respond_inbox(item["id"], _decision(item, "reject"))

    async def _items(self, session_id: str) -> List[InboxItem]:
        query = cast("Dict[str, Any]", {"session_id": session_id})
        return cast("List[InboxItem]", (await self._call("GET", "/inbox", True, {}, query, None))["items"])


def _decision(item: InboxItem, decision: str) -> Any:
    """The decision, with the hash of what was shown: the server rejects it if the call has changed since."""
    shown = item["payload"].get("shown_hash")
    return {"decision": decision, **({"shown_hash": shown} if shown is not None else {})}
