"""Server-Sent Events, wherever the network cuts them."""

import json
import random
import unittest

from cairn_agent.errors import ApiError, read_failure
from cairn_agent.events import Follower, Frame, FrameParser, StreamError


def frame(number: int, session: str = "s", text: str = "ţară 🙂") -> str:
    data = json.dumps(
        {"id": number, "session_id": session, "type": "t", "created_at": "", "data": {"content": text}},
        ensure_ascii=False,
    )
    return f"id: {number}\nevent: t\ndata: {data}\n\n"


class Frames(unittest.TestCase):
    def test_any_cut_gives_the_same_frames(self) -> None:
        stream = (": hello\n\nretry: 250\n\n" + "".join(frame(n) for n in range(1, 30))).encode()
        for line_break in (b"\n", b"\r\n", b"\r"):
            whole = stream.replace(b"\n", line_break)
            for seed in range(50):
                chance = random.Random(seed)
                parser = FrameParser()
                found = []
                at = 0
                while at < len(whole):
                    size = chance.randint(1, 40)
                    found += parser.feed(whole[at : at + size])
                    at += size
                found += parser.feed(b"\n")
                self.assertEqual([one.id for one in found], [str(n) for n in range(1, 30)], seed)
                self.assertEqual(json.loads(found[0].data)["data"]["content"], "ţară 🙂")
                self.assertEqual(parser.retry_ms, 250)

    def test_a_frame_that_is_not_complete_is_not_returned(self) -> None:
        parser = FrameParser()
        self.assertEqual(list(parser.feed(b"id: 1\ndata: {}\n")), [])
        self.assertEqual(list(parser.feed(b"\n")), [Frame("1", "", "{}")])


class Followers(unittest.TestCase):
    def test_returns_each_event_once_and_refuses_those_of_another_session(self) -> None:
        follower = Follower("s", 3)
        given = [next(iter(FrameParser().feed(frame(n).encode()))) for n in (2, 3, 4, 4, 6)]
        self.assertEqual([e["id"] for f in given if (e := follower.accept(f))], [4, 6])
        with self.assertRaises(StreamError):
            follower.accept(next(iter(FrameParser().feed(frame(7, "other").encode()))))

    def test_waits_longer_after_each_failure_and_raises_a_final_one(self) -> None:
        follower = Follower("s", 0, base_delay=1, max_delay=8)
        waits = [follower.delay_after(OSError(), None) for _ in range(6)]
        for wait, full in zip(waits, (1, 2, 4, 8, 8, 8)):
            self.assertTrue(full / 2 <= wait <= full, waits)
        busy = read_failure(429, {"retry-after": "20"}, "", 0)
        self.assertGreaterEqual(follower.delay_after(busy, None), 20)
        gone = read_failure(404, {}, "gone", 0)
        with self.assertRaises(ApiError):
            follower.delay_after(gone, None)


if __name__ == "__main__":
    unittest.main()
