"""200 conversations by openai-harmony, for interop_harmony.ts, which renders them by the template of gpt-oss
and this project's server: `python interop_harmony.py DIR` writes DIR/conversations.json and
DIR/model/tokenizer.json.

Needs openai-harmony, transformers, tiktoken, and TIKTOKEN_ENCODINGS_BASE as make_harmony.py has it.
DIR/model/chat_template.jinja is the published template, put there by hand. It differs from openai-harmony in
three places, which the conversations made here allow for: arguments are `json` without <|constrain|>, thoughts
of turns that have an answer are left out, and instructions without tools end with an empty line.
"""

import datetime
import json
import os
import random
import sys
from pathlib import Path

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    Message,
    RenderConversationConfig,
    Role,
    SystemContent,
    ToolDescription,
    load_harmony_encoding,
)

encoding = load_harmony_encoding("HarmonyGptOss")
# The template writes the day on which it is rendered.
DATE = datetime.date.today().isoformat()
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "number"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}
TOOLS = {"get_weather": ("Gets the weather.", WEATHER), "now": ("Says what time it is.", None)}
WORDS = ["câte", "mere", "are", "Ana", "?", "42", "{x}", "\n", "ok", "🦊", "don't", "İstanbul", "  ", "3.14"]

# What o200k_base cuts a text into.
SPLITS = [
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""",
    r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
    r"""\s*[\r\n]+""",
    r"""\s+(?!\S)""",
    r"""\s+""",
]


def text(rng):
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 9))).strip() or "."


def make(rng):
    """A conversation as a request has it, and as openai-harmony has it."""
    tools = rng.random() < 0.7
    system = SystemContent.new().with_conversation_start_date(DATE)
    harmony = [Message.from_role_and_content(Role.SYSTEM, system)]
    messages = []
    instructions = text(rng) if rng.random() < 0.6 else None
    if instructions or tools:
        developer = DeveloperContent.new()
        if instructions:
            messages.append({"role": "system", "content": instructions})
            developer = developer.with_instructions(instructions if tools else f"{instructions}\n\n")
        if tools:
            developer = developer.with_function_tools(
                [
                    ToolDescription.new(name, about, parameters=schema)
                    for name, (about, schema) in TOOLS.items()
                ]
            )
        harmony.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    turns = rng.randrange(1, 4)
    for turn in range(turns):
        said = text(rng)
        messages.append({"role": "user", "content": said})
        harmony.append(Message.from_role_and_content(Role.USER, said))
        for _ in range(rng.randrange(0, 3) if tools else 0):
            name, given, result = rng.choice(list(TOOLS)), {"city": text(rng)}, text(rng)
            thought = text(rng) if rng.random() < 0.6 else None
            call = {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            thoughts = {"reasoning_content": thought} if thought else {}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call], **thoughts})
            messages.append({"role": "tool", "tool_call_id": "c", "content": result})
            if thought and turn == turns - 1:
                harmony.append(
                    Message.from_role_and_content(Role.ASSISTANT, thought).with_channel("analysis")
                )
            harmony.append(
                Message.from_role_and_content(Role.ASSISTANT, json.dumps(given, ensure_ascii=False))
                .with_channel("commentary")
                .with_recipient(f"functions.{name}")
                .with_content_type("json")
            )
            harmony.append(
                # The template writes every result as JSON text.
                Message.from_author_and_content(
                    Author.new(Role.TOOL, f"functions.{name}"), json.dumps(result, ensure_ascii=False)
                )
                .with_channel("commentary")
                .with_recipient("assistant")
            )
        if turn < turns - 1:
            answer = text(rng)
            messages.append({"role": "assistant", "content": answer})
            harmony.append(Message.from_role_and_content(Role.ASSISTANT, answer).with_channel("final"))
    config = RenderConversationConfig(auto_drop_analysis=True)
    ids = encoding.render_conversation_for_completion(
        Conversation.from_messages(harmony), Role.ASSISTANT, config
    )
    request_tools = [
        {"type": "function", "function": {"name": n, "description": d, **({"parameters": s} if s else {})}}
        for n, (d, s) in TOOLS.items()
    ]
    return {
        "request": {"messages": messages, **({"tools": request_tools} if tools else {})},
        "text": encoding.decode(ids),
        "ids": ids,
    }


def write_tokenizer(model):
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import TikTokenConverter

    named = {"startoftext": 199998, "endoftext": 199999, "return": 200002, "constrain": 200003}
    named |= {"channel": 200005, "start": 200006, "end": 200007, "message": 200008, "call": 200012}
    named |= {"endofprompt": 200018}
    used = {i: name for name, i in named.items()}
    special = [f"<|{used.get(i, f'reserved_{i}')}|>" for i in range(199998, 200019)]
    ranks = os.path.join(os.environ["TIKTOKEN_ENCODINGS_BASE"], "o200k_base.tiktoken")
    converted = TikTokenConverter(ranks, pattern="|".join(SPLITS), extra_special_tokens=special).converted()
    PreTrainedTokenizerFast(
        tokenizer_object=converted,
        bos_token="<|startoftext|>",
        eos_token="<|return|>",
        pad_token="<|endoftext|>",
    ).save_pretrained(model)


directory = Path(sys.argv[1])
(directory / "model").mkdir(parents=True, exist_ok=True)
rng = random.Random(5)
(directory / "conversations.json").write_text(json.dumps([make(rng) for _ in range(200)]))
write_tokenizer(directory / "model")
