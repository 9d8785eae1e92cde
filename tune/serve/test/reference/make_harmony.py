"""Answers in the harmony format, and what openai-harmony's parser makes of them: harmony.json.

Needs openai-harmony (0.0.8 here) and the file o200k_base.tiktoken, whose directory TIKTOKEN_ENCODINGS_BASE
names. Run by hand; the file is kept. A segment that is a marker stands for its token, any other for text, also
where that spells a marker.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

from openai_harmony import HarmonyError, Role, StreamableParser, load_harmony_encoding

encoding = load_harmony_encoding("HarmonyGptOss")
TEXTS = [
    "Să vedem: 3 mere și 4 pere.",
    "The user asks for the weather.\n\nI should call the tool.",
    "Spelled out, <|end|> and <|channel|>final are text.",
    "Answer: **42** 🦊",
    "{} [] <think>",
]
ARGUMENTS = [
    '{"city":"Cluj","days":3}',
    "{}",
    '{"q": "a \\"b\\" <|call|> c", "n": [1, 2.5]}',
    '{"city": "Iaș',
]


class Marker(str):
    pass


def marker(name):
    return Marker(f"<|{name}|>")


def header(rng, channel, receiver=None, kind=None):
    parts = []
    if receiver and rng.random() < 0.4:
        parts.append(f" to={receiver}")
        receiver = None
    parts += [marker("channel"), channel]
    if receiver:
        parts.append(f" to={receiver}")
    if kind == "constrain":
        parts += [" ", marker("constrain"), "json"]
    elif kind:
        parts.append(f" {kind}")
    return [*parts, marker("message")]


def make(rng):
    answer, count = [], rng.choice([1, 1, 2, 2, 3, 4])
    for i in range(count):
        if i > 0:
            answer += [marker("start"), "assistant"]
        form = rng.choice(["analysis", "analysis", "comment", "call", "call", "final"])
        if i == count - 1 and form == "analysis":
            form = "final"
        if form == "call":
            kind = rng.choice(["constrain", "constrain", "json", "code"])
            receiver = rng.choice(["functions.get_weather", "functions.find", "functions.a.b"])
            answer += header(rng, rng.choice(["commentary", "commentary", "analysis"]), receiver, kind)
            answer += [rng.choice(ARGUMENTS)]
        else:
            answer += header(rng, "commentary" if form == "comment" else form)
            answer += [rng.choice(TEXTS)]
        answer += [marker("call" if form == "call" else "end")] if i < count - 1 else []
    if rng.random() < 0.3:
        # Cut short: within a body, a header, or between.
        answer = answer[: rng.randrange(1, len(answer) + 1)]
    elif rng.random() < 0.5:
        answer.append(marker("return"))
    return answer


def tokens_of(answer):
    for segment in answer:
        special = "all" if isinstance(segment, Marker) else set()
        yield from encoding.encode(str(segment), allowed_special=special, disallowed_special=())


def meant(answer):
    """Thoughts, text and calls, as this server names them, of what the parser found."""
    parser = StreamableParser(encoding, Role.ASSISTANT)
    for token in tokens_of(answer):
        parser.process(token)
    found = [(m.channel, m.recipient, "".join(part.text for part in m.content)) for m in parser.messages]
    is_open = parser.state.name == "CONTENT"
    if is_open:
        found.append((parser.current_channel, parser.current_recipient, parser.current_content))
    thoughts, texts, calls = [], [], []
    for channel, receiver, text in found:
        if receiver and receiver.startswith("functions."):
            calls.append([receiver.removeprefix("functions."), text])
        else:
            (thoughts if channel == "analysis" else texts).append(text)
    return {"has_message": bool(found), "thoughts": thoughts, "texts": texts, "calls": calls}


rng = random.Random(3)
cases = []
while len(cases) < 200:
    answer = make(rng)
    try:
        found = meant(answer)
    except HarmonyError:
        continue  # No message of the format to the parser itself.
    segments = [[str(segment), isinstance(segment, Marker)] for segment in answer]
    cases.append({"segments": segments, **found})
path = Path(__file__).parent / "harmony.json"
path.write_text(
    json.dumps({"openai-harmony": version("openai-harmony"), "cases": cases}, ensure_ascii=False) + "\n"
)
print(len(cases), sum(len(c["calls"]) for c in cases), sum(not c["has_message"] for c in cases))
