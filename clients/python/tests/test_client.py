"""Both clients against a server whose connections break."""

import asyncio
import json
import random
import unittest
from typing import Any, AsyncIterator, Iterator, List, Optional
from unittest.mock import patch

import httpx

from cairn_agent import ApiError, AsyncClient, Client, ConnectionFailed
from test_frames import frame

PROBLEM = {"type": "about:blank", "title": "Not found", "code": "not_found", "request_id": "r"}


class CutStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Sends bytes in pieces, and breaks after some."""

    def __init__(self, body: bytes, chance: random.Random) -> None:
        self.body, self.chance = body, chance
        self.end = chance.randint(0, len(body))

    def pieces(self) -> Iterator[bytes]:
        at = 0
        while at < self.end:
            size = min(self.chance.randint(1, 300), self.end - at)
            yield self.body[at : at + size]
            at += size

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces()
        if self.end < len(self.body):
            raise httpx.ReadError("cut")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces():
            yield piece
        if self.end < len(self.body):
            raise httpx.ReadError("cut")


class Server:
    """A log of events. Each connection is cut at a random byte."""

    def __init__(self, count: int, seed: int) -> None:
        # Ids have gaps, where chunks of answers were pruned.
        self.ids = sorted(random.Random(seed).sample(range(1, count * 3), count))
        self.chance = random.Random(seed)
        self.connections = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.connections += 1
        if self.chance.random() < 0.2:
            raise httpx.ConnectError("refused")
        if self.chance.random() < 0.1:
            return httpx.Response(503, text="a proxy")
        after = int(request.url.params["after"])
        body = "".join(frame(n) for n in self.ids if n > after).encode()
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=CutStream(body, self.chance))


def answers(*responses: Any) -> httpx.MockTransport:
    left = list(responses)
    seen: List[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        response = left.pop(0)
        if isinstance(response, Exception):
            raise response
        return response

    transport = httpx.MockTransport(handle)
    transport.seen = seen  # type: ignore[attr-defined]
    return transport


async def no_wait(_: float) -> None:
    return None


class Reconnects(unittest.TestCase):
    #: About ten connections each.
    ROUNDS = 100

    def test_every_event_arrives_once_and_in_order_sync(self) -> None:
        with patch("time.sleep"):
            servers: List[Server] = []
            transport = httpx.MockTransport(lambda request: servers[-1](request))
            with Client(token="t", transport=transport) as client:
                for seed in range(self.ROUNDS):
                    servers.append(Server(20, seed))
                    seen: List[int] = []
                    for event in client.events("s"):
                        seen.append(event["id"])
                        if len(seen) == 20:
                            break
                    self.assertEqual(seen, servers[-1].ids, seed)

    def test_every_event_arrives_once_and_in_order_async(self) -> None:
        async def all_rounds() -> None:
            servers: List[Server] = []
            transport = httpx.MockTransport(lambda request: servers[-1](request))
            async with AsyncClient(token="t", transport=transport) as client:
                for seed in range(self.ROUNDS):
                    servers.append(Server(20, seed))
                    seen: List[int] = []
                    async for event in client.events("s"):
                        seen.append(event["id"])
                        if len(seen) == 20:
                            break
                    self.assertEqual(seen, servers[-1].ids, seed)

        with patch("cairn_agent.client.asyncio.sleep", no_wait):
            asyncio.run(all_rounds())


class Calls(unittest.TestCase):
    def client(self, *responses: Any, token: str = "t") -> Client:
        return Client(token=token, transport=answers(*responses))

    def seen(self, client: Client) -> List[httpx.Request]:
        return client._http._transport.seen  # type: ignore[attr-defined]

    def test_a_repeated_write_has_the_same_idempotency_key(self) -> None:
        lost = httpx.ReadError("lost")
        client = self.client(lost, httpx.Response(503, text="busy"), httpx.Response(201, json={"id": "x"}))
        with patch("time.sleep"):
            self.assertEqual(client.create_session(title="T")["id"], "x")
        keys = [request.headers["idempotency-key"] for request in self.seen(client)]
        self.assertEqual(len(keys), 3)
        self.assertEqual(len(set(keys)), 1)
        self.assertEqual(json.loads(self.seen(client)[0].content), {"title": "T"})

    def test_a_write_without_a_key_is_not_repeated(self) -> None:
        client = self.client(httpx.ReadError("lost"))
        with self.assertRaises(ConnectionFailed):
            client.stop_session("s")

    def test_a_refusal_names_its_code_and_is_not_repeated(self) -> None:
        refused = httpx.Response(404, json={**PROBLEM, "status": 404, "detail": "Session x not found."})
        client = self.client(refused)
        with self.assertRaises(ApiError) as raised:
            client.get_session("x")
        self.assertEqual((raised.exception.code, str(raised.exception)), ("not_found", "Session x not found."))

    def test_a_service_account_uses_its_own_paths(self) -> None:
        paths: List[Optional[str]] = []
        for token in ("t", "cairn_sk_1"):
            client = self.client(httpx.Response(200, json={}), token=token)
            client.get_session("a/b")
            paths.append(self.seen(client)[0].url.raw_path.decode())
        self.assertEqual(paths, ["/v1/sessions/a%2Fb", "/v1/api/sessions/a%2Fb"])

    def test_query_values_become_text_and_missing_ones_are_left_out(self) -> None:
        client = self.client(httpx.Response(200, json={"sessions": [], "next_cursor": None}))
        client.list_sessions(limit=5, shape="true", cursor=None)  # type: ignore[typeddict-item,arg-type]
        self.assertEqual(dict(self.seen(client)[0].url.params), {"limit": "5", "shape": "true"})


if __name__ == "__main__":
    unittest.main()
