#!/usr/bin/env python3
"""Compares our rendering of chat templates with that of Jinja2 in transformers, byte for byte.

Usage: judge_templates.py PACKAGE…   wheels, source archives and folders with templates
Needs: pip install transformers jinja2 (no torch), and this repository's node_modules.
"""

import collections
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import jinja2
import transformers
from transformers.utils import chat_template_utils

from collect_templates import collect
from conversations import conversations

HERE = os.path.dirname(os.path.abspath(__file__))
NOW = datetime.datetime(2026, 3, 5, 7, 8, 9)
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = Clock


def expected(template, case):
    """The text and marks of transformers, or its error."""
    case = dict(case)
    messages = chat_template_utils._normalize_chat_messages(case.pop("messages"))
    try:
        rendered, marks = chat_template_utils.render_jinja_template(
            conversations=[messages],
            chat_template=template,
            return_assistant_tokens_mask=True,
            **SPECIAL,
            **case,
        )
        return {"text": rendered[0], "marks": [list(mark) for mark in marks[0]]}
    except Exception as error:  # Templates raise whatever Python does.
        return {"error": f"{type(error).__name__}: {error}"}


def in_code_points(text, marks):
    """Marks of JavaScript count halves of surrogate pairs."""
    units = text.encode("utf-16-le")
    return [[len(units[: 2 * at].decode("utf-16-le")) for at in mark] for mark in marks or []]


def variables(case):
    """What render_jinja_template hands to the template."""
    messages = chat_template_utils._normalize_chat_messages(case["messages"])
    messages = chat_template_utils._alias_reasoning_fields(messages)
    return {"documents": None, **SPECIAL, **case, "messages": messages}


def run_ours(lines):
    """Our results for lines as render_cases.ts reads them."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
        file.seek(0)
        node = os.path.join(HERE, "../../../../node_modules/.bin/node")
        command = [node, os.path.join(HERE, "render_cases.ts")]
        run = subprocess.run(command, stdin=file, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in run.stdout.decode().split("\n") if line]


def main(paths):
    templates = collect(paths)
    pairs, lines = [], []
    for where, template in templates:
        seed = int(hashlib.sha256(template.encode()).hexdigest()[:8], 16)
        for i, case in enumerate(conversations(seed)):
            pairs.append((where, template, i, case))
            line = {"variables": variables(case), "now": int(NOW.timestamp()) * 1000}
            lines.append({"template": template, **line} if i == 0 else line)
    ours = run_ours(lines)
    count = {"equal": 0, "both refuse": 0, "different": 0}
    compared, marks_differ, refusals = set(), [], collections.Counter()
    for (where, template, i, case), mine in zip(pairs, ours, strict=True):
        theirs = expected(template, case)
        if "text" in theirs and theirs["text"] == mine.get("text"):
            count["equal"] += 1
            compared.add(where)
            mine_marks = in_code_points(mine["text"], mine.get("marks"))
            if mine_marks != theirs["marks"]:
                marks_differ.append((where, i, theirs["marks"], mine_marks))
        elif "error" in theirs and "error" in mine:
            count["both refuse"] += 1
            refusals[theirs["error"], mine["error"]] += 1
        else:
            count["different"] += 1
            print(f"DIFFERENT {where} [{i}]")
            start = len(os.path.commonprefix([theirs.get("text", ""), mine.get("text", "")]))
            for name, one in (("transformers", theirs), ("ours", mine)):
                shown = one.get("text", "")[max(start - 40, 0) : start + 60] if "text" in one else one
                print(f"  {name}: {shown!r}"[:400])
    for where, i, theirs, mine in marks_differ:
        print(f"MARKS {where} [{i}] transformers {theirs}, ours {mine}")
    for (theirs, mine), number in refusals.most_common():
        print(f"REFUSED {number} times: transformers {theirs!r}, ours {mine!r}"[:400])
    print(f"Jinja2 {jinja2.__version__}, transformers {transformers.__version__}")
    print(f"{len(templates)} templates, of which {len(compared)} render at least one conversation alike")
    print(f"{len(pairs)} renderings:", ", ".join(f"{number} {name}" for name, number in count.items()))
    print(f"marks of {len(marks_differ)} renderings differ")
    return count["different"] > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
