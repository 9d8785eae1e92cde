"""
Trains a tiny byte-level BPE and writes what the Python libraries make of texts and conversations with it.
Run: python make_tokenizer.py (needs transformers and tokenizers; made with 4.57.6 and 0.22.2).
"""

import json
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

here = Path(__file__).parent / "tokenizer"
CORPUS = [
    "Ana has 12 apples and gives 5 apples to Dan. How many apples are left?",
    "12 - 5 = 7\n#### 7\n\nThe answer is 7.",
    "Ana are 12 mere și îi dă lui Dan 5 mere. Câte mere îi rămân? În total sunt 25 de mere.",
    'assistant user system tool {"name": "add", "arguments": {"a": 1}} think',
] * 3
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

tokenizer = Tokenizer(models.BPE())
tokenizer.normalizer = normalizers.NFC()
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex(SPLIT), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
)
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=420,
    special_tokens=SPECIAL,
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
)
tokenizer.train_from_iterator(CORPUS, trainer)
tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])

TEMPLATE = """\
{%- if tools %}
<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- set last = namespace(query=-1) %}
{%- for message in messages %}{% if message.role == 'user' %}\
{% set last.query = loop.index0 %}{% endif %}{% endfor %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}{% if loop.index0 > last.query and loop.last %}\
{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}{{ '<call>' ~ call.function | tojson }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' ~ message.role ~ '\\n' ~ message.content ~ '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}{% if enable_thinking is defined and not enable_thinking %}\
{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}"""
MARKED = """\
{%- for message in messages %}
{{- '<|im_start|>' ~ message.role ~ '\\n' }}
{%- if message.role == 'assistant' %}{% generation %}{{ message.content ~ '<|im_end|>' }}{% endgeneration %}
{%- else %}{{ message.content ~ '<|im_end|>' }}{% endif %}
{{- '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""

fast = PreTrainedTokenizerFast(
    tokenizer_object=tokenizer,
    eos_token="<|im_end|>",
    pad_token="<|endoftext|>",
    clean_up_tokenization_spaces=True,
    chat_template=TEMPLATE,
)
fast.save_pretrained(here)
(here / "special_tokens_map.json").unlink(missing_ok=True)
for name in ("tokenizer.json", "tokenizer_config.json"):
    path = here / name
    path.write_text(
        json.dumps(
            json.loads(path.read_text()), ensure_ascii=False, indent=None if name == "tokenizer.json" else 2
        )
        + "\n"
    )

TEXTS = [
    "",
    "Ana has 12 apples.",
    "Câte mere îi rămân? 25 de mere!",
    "a\u0306 = ă",
    " two  spaces , and . marks ? n't 're",
    "line\r\n\r\nline\n\n  x",
    "日本 🙂 ümlaut",
    "<|im_start|>user\nhi<|im_end|>",
    "<think>\n\n</think>\n\nso",
    "####12",
    "DON'T we'LL",
]
USER, ANSWER = (
    {"role": "user", "content": "How many?"},
    {"role": "assistant", "content": "12 - 5 = 7\n#### 7"},
)
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": [2, "ă"]}}}],
}
TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds: a & b's <sum>",
        "parameters": {"type": "object", "properties": {}},
    },
}
CHATS = {
    "one turn": {"messages": [USER, ANSWER]},
    "three turns": {
        "messages": [
            {"role": "system", "content": "Be short."},
            USER,
            ANSWER,
            USER,
            ANSWER,
            USER,
            {"role": "assistant", "content": "\n7"},
        ]
    },
    "tools": {"messages": [USER, CALL, {"role": "tool", "content": "3"}, ANSWER], "tools": [TOOL]},
}
goldens = {
    "texts": [
        {
            "text": text,
            "ids": fast.encode(text, add_special_tokens=False),
            "decoded": fast.decode(fast.encode(text), clean_up_tokenization_spaces=False),
        }
        for text in TEXTS
    ],
    "chats": {
        name: {
            **chat,
            "text": fast.apply_chat_template(
                **{"conversation": chat["messages"], "tools": chat.get("tools")}, tokenize=False
            ),
        }
        for name, chat in CHATS.items()
    },
    "prompt": fast.apply_chat_template([USER], tokenize=False, add_generation_prompt=True),
    "no_thinking_prompt": fast.apply_chat_template(
        [USER], tokenize=False, add_generation_prompt=True, enable_thinking=False
    ),
}
# In "three turns" a token reaches over the start of the last answer; here none does, so whole and in pieces
# give the same ids.
chat = [*CHATS["three turns"]["messages"][:-1], ANSWER]
fast.chat_template = MARKED
encoded = fast.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
goldens["marked"] = {"template": MARKED, "ids": encoded["input_ids"], "mask": encoded["assistant_masks"]}
(here / "goldens.json").write_text(json.dumps(goldens, ensure_ascii=False, indent=1) + "\n")
