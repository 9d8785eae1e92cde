"""Conversations for comparing chat templates. They depend only on the seed."""

import random

TEXTS = [
    "Hello!",
    "What is 2 + 2?",
    "  leading and trailing spaces \n",
    "",
    "Două linii\nși diacritice: ăîșțâ",
    "日本語のテキスト 🦙👩‍👩‍👧",
    "quotes ' and \" and \\ and <b>tags</b> & more",
    "{{ not a template }} {% neither %} {# nor this #}",
    "\n\nstarts with line breaks",
    "a very long line " * 12,
    "tabs\tand\r\nwindows line breaks",
    "```python\nprint('hi')\n```\n",
    "<|im_end|> <s> [INST] </s> <think>",
    "\u00a0no-break\u2028separator\u0085next",
]
THOUGHTS = ["Let me think.", "Step 1: add.\nStep 2: check.", "", "思考中…"]
ANSWERS = TEXTS + [
    "<think>\nI should add.\n</think>\n\nThe answer is 4.",
    "<think>short</think>42",
    "before </think> after",
]
CITIES = ["Paris", "București", "東京", 'New "York"']


def tools(rng):
    """Descriptions of functions, with the kinds of values that JSON has."""
    one = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the weather.\nIn a city – of the world.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city's name"},
                    "days": {"type": "integer", "default": 3, "minimum": 1},
                    "scale": {"type": "number", "default": 1.0, "maximum": 1e-07},
                    "exact": {"type": "boolean", "default": False},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "tags": {"type": "array", "items": {"type": "string"}, "default": None},
                },
                "required": ["city"],
            },
        },
    }
    two = {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds <two> & 'numbers'",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "number"}, "b": {"type": ["number", "null"]}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    }
    three = {
        "type": "function",
        "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
    }
    return rng.choice([[one], [one, two], [three], [one, two, three]])


def call(rng, number, wants_id):
    """A call as OpenAI's API has it, with its arguments as an object."""
    arguments = rng.choice(
        [
            {"city": rng.choice(CITIES), "days": rng.randint(1, 9)},
            {"a": 1, "b": 2.5},
            {"a": 1.0, "b": None, "deep": {"list": [1, 2.0, "x", {"y": True}]}},
            {},
        ]
    )
    made = {"type": "function", "function": {"name": rng.choice(["get_weather", "add"]), "arguments": arguments}}
    return {"id": f"call{number:05d}", **made} if wants_id else made


def assistant(rng, kind, number):
    text = rng.choice(ANSWERS)
    if kind == "thoughts":
        key = rng.choice(["reasoning_content", "reasoning", "thinking"])
        return {"role": "assistant", key: rng.choice(THOUGHTS), "content": text}
    return {"role": "assistant", "content": text}


def tool_turns(rng, number):
    """A message with calls, their results, and sometimes an answer."""
    calls = [call(rng, 10 * number + i, rng.random() < 0.8) for i in range(rng.choice([1, 1, 2]))]
    said = {"role": "assistant", "content": rng.choice(["", "I will look.", None]), "tool_calls": calls}
    if rng.random() < 0.3:
        said["reasoning_content"] = rng.choice(THOUGHTS)
    said = {key: value for key, value in said.items() if value is not None}
    results = []
    for one in calls:
        result = {
            "role": "tool",
            "name": one["function"]["name"],
            "content": rng.choice(['{"temperature": 21.5}', "sunny", "", "[1, 2]"]),
        }
        if "id" in one:
            result["tool_call_id"] = one["id"]
        results.append(result)
    return [said, *results]


def parts(rng, with_image):
    text = {"type": "text", "text": rng.choice(TEXTS)}
    return [{"type": "image"}, text] if with_image else [text, {"type": "text", "text": "second part"}]


KINDS = [
    "plain", "plain", "plain", "system", "system", "system", "turns", "turns", "turns", "empty",
    "thoughts", "thoughts", "tools", "tools", "calls", "calls", "calls", "documents", "parts", "image",
]  # fmt: skip


def conversation(rng, kind):
    """The keyword arguments of one rendering."""
    messages = []
    if kind == "system" or rng.random() < 0.35:
        messages.append({"role": "system", "content": rng.choice(TEXTS)})
    count = {"turns": rng.randint(2, 5), "empty": 1}.get(kind, rng.randint(1, 3))
    ends_with_user = rng.random() < 0.5
    for turn in range(count):
        content = "" if kind == "empty" else rng.choice(TEXTS)
        if kind in ("parts", "image"):
            content = parts(rng, kind == "image" and turn == 0)
        messages.append({"role": "user", "content": content})
        if turn == count - 1 and ends_with_user:
            break
        if kind == "calls":
            messages += tool_turns(rng, turn)
            if turn == count - 1 and rng.random() < 0.3:
                break
        messages.append(assistant(rng, kind, turn))
    made = {"messages": messages, "add_generation_prompt": ends_with_user or rng.random() < 0.2}
    made["tools"] = tools(rng) if kind in ("tools", "calls") else None
    if kind == "documents":
        made["documents"] = [{"title": "A title", "text": rng.choice(TEXTS)}, {"title": "", "text": "Second"}]
    if rng.random() < 0.25:
        made["enable_thinking"] = rng.random() < 0.5
    if rng.random() < 0.1:
        made["date_string"] = "26 Jul 2024"
    return made


def conversations(seed):
    """Twenty conversations, one of each kind."""
    rng = random.Random(seed)
    return [conversation(rng, kind) for kind in KINDS]
