"""Has the public validators judge what `cairn export` writes.

    python3.12 -m venv judges && judges/bin/pip install harbor datasets transformers jinja2 trl torch
    mkdir exports && KEEP_EXPORTS=$PWD/exports npm run e2e -- agent/app/e2e/export.test.ts
    judges/bin/python agent/app/test/reference/judge_exports.py exports

ATIF is judged by harbor's validator, chat JSONL by datasets (does it load as a table?), trl (is it a conversation it can train on?)
and by rendering every example with a chat template that knows tools. The template here is a small one in the manner of Qwen3:
what matters is that roles, calls with parsed arguments, results and tools are where templates look for them.
"""

import json
import pathlib
import sys

TEMPLATE = """{%- if tools %}<|im_start|>system
# Tools
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools><|im_end|>
{% endif %}{%- for message in messages %}{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments if call.function.arguments is string else call.function.arguments | tojson }}}
</tool_call>{%- endfor %}<|im_end|>
{% endif %}{%- endfor %}"""


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judge_atif(path):
    from harbor.utils.trajectory_validator import TrajectoryValidator

    documents = lines(path)
    for document in documents:
        validator = TrajectoryValidator()
        if not validator.validate(document):
            raise SystemExit(f"ATIF {document['session_id']}: {validator.get_errors()}")
    print(f"atif: {len(documents)} trajectories are valid to harbor")


def render(messages, tools):
    """As transformers does it: the same sandboxed Jinja environment, without a tokenizer's weights."""
    from transformers.utils.chat_template_utils import render_jinja_template

    rendered, _ = render_jinja_template(conversations=[messages], tools=tools or None, chat_template=TEMPLATE)
    return rendered[0]


def without_none(value):
    """A table has every column in every row; what a line leaves out is None in it."""
    if isinstance(value, dict):
        return {key: without_none(item) for key, item in value.items() if item is not None}
    return [without_none(item) for item in value] if isinstance(value, list) else value


def judge_chat(path, keys):
    from datasets import load_dataset
    from trl import is_conversational

    table = load_dataset("json", data_files=str(path), split="train")
    examples = lines(path)
    assert table.num_rows == len(examples)
    for row, example in zip(table, examples):
        assert without_none(row) == without_none(example), f"{path.name}: the table holds something else than the file"
        assert is_conversational(example), f"{path.name}: trl sees no conversation in {sorted(example)}"
        messages = [message for key in keys for message in example[key]]
        text = render(messages, example["tools"])
        for message in messages:
            assert (message.get("content") or "") in text
            for call in message.get("tool_calls", []):
                assert call["function"]["name"] in {tool["function"]["name"] for tool in example["tools"]}, "a call of a tool that is not listed"
        answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
        made = {call["id"] for message in messages for call in message.get("tool_calls", [])}
        assert answered == made, "a call without its result, or a result without its call"
    print(f"{path.stem}: {len(examples)} examples load with datasets ({', '.join(table.column_names)}), are conversations to trl, and render with tools")


def main():
    import datasets
    import harbor
    import transformers
    import trl
    from importlib.metadata import version

    folder = pathlib.Path(sys.argv[1])
    print("judges:", ", ".join(f"{module.__name__} {version(module.__name__)}" for module in (harbor, datasets, transformers, trl)))
    judge_atif(folder / "atif.jsonl")
    judge_chat(folder / "sft.jsonl", ["messages"])
    judge_chat(folder / "dpo.jsonl", ["prompt", "chosen"])
    judge_chat(folder / "dpo.jsonl", ["prompt", "rejected"])


main()
