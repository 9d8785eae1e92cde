#!/usr/bin/env python3
"""Compares the answers that we find in templates without marks with those that TRL marks in its copies of them.

Usage: judge_masks.py TRL_WHEEL
Needs: pip install transformers jinja2 (no torch), and this repository's node_modules.
"""

import collections
import json
import os
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../templates/test/reference"))

from conversations import conversations  # noqa: E402
from judge_templates import SPECIAL, chat_template_utils, expected, in_code_points  # noqa: E402

SEEDS = range(3)


def templates(path):
    """Pairs of a template and TRL's copy with marks."""
    with zipfile.ZipFile(path) as archive:
        texts = {
            os.path.basename(name)[: -len(".jinja")]: archive.read(name).decode()
            for name in archive.namelist()
            if name.endswith(".jinja")
        }
    return [(name, texts[name], texts[f"{name}_training"]) for name in texts if f"{name}_training" in texts]


def cases():
    """Conversations that end with an answer."""
    for seed in SEEDS:
        for case in conversations(seed):
            if case["messages"][-1]["role"] == "assistant":
                yield {"messages": case["messages"], "tools": case["tools"]}


def ours(lines):
    node = os.path.join(HERE, "../../../../node_modules/.bin/node")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    command = [node, os.path.join(HERE, "mask_cases.ts")]
    run = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in run.stdout.decode().split("\n") if line]


def mask(text, spans):
    marked = [False] * len(text)
    for start, end in spans:
        marked[start:end] = [True] * (end - start)
    return marked


def kind(text, theirs, mine):
    """What the two masks differ by."""
    if theirs == mine:
        return "equal"
    more = "".join(char if m and not t else "\0" for char, t, m in zip(text, theirs, mine, strict=True))
    less = "".join(char if t and not m else "\0" for char, t, m in zip(text, theirs, mine, strict=True))
    parts = [f"{sign}{one!r}" for sign, many in (("+", more), ("-", less)) for one in {*many.split("\0")} if one]
    return " ".join(sorted(parts))


def main(path):
    pairs, lines = [], []
    for name, plain, marked in templates(path):
        for i, case in enumerate(cases()):
            pairs.append((name, marked, case))
            messages = chat_template_utils._normalize_chat_messages(case["messages"])
            chat = {"messages": messages, **({"tools": case["tools"]} if case["tools"] else {})}
            line = {"globals": SPECIAL, "chat": chat}
            lines.append({"template": plain, **line} if i == 0 else line)
    table = collections.defaultdict(collections.Counter)
    for (name, marked, case), mine in zip(pairs, ours(lines), strict=True):
        theirs = expected(marked, case)
        if "error" in theirs:
            found = "refused by TRL's copy"
        elif "error" in mine:
            found = "refused here: " + mine["error"][:60]
        elif theirs["text"] != mine["text"]:
            found = "other text"
        else:
            spans = in_code_points(mine["text"], mine["spans"])
            text = mine["text"]
            found = kind(text, mask(text, theirs["marks"]), mask(text, spans))
        table[name][found] += 1
    total = collections.Counter()
    for name, counts in sorted(table.items()):
        total.update({"equal" if one == "equal" else one.split(":")[0] if one.startswith("refused") or one == "other text" else "different": number for one, number in counts.items()})
        print(f"{name}: " + "; ".join(f"{number} × {one}"[:110] for one, number in counts.most_common(5)))
    print(f"{len(table)} templates, {len(pairs)} conversations:", dict(total))


if __name__ == "__main__":
    main(sys.argv[1])
