#!/usr/bin/env python3
"""Compares the language of our templates with Jinja2 in transformers, and writes goldens for `npm test`.

Usage: judge_language.py [--write] [COUNT [SEED]]   COUNT random expressions beside the written cases
"""

import copy
import json
import os
import re
import sys

import judge_templates
from judge_templates import NOW, run_ours
from language_cases import VARIABLES, cases, random_expressions
from transformers.utils import chat_template_utils


def expected(template):
    """The text, or the error, of Jinja2 with the settings of transformers."""
    try:
        text = chat_template_utils._compile_jinja_template(template).render(**copy.deepcopy(VARIABLES))
    except RecursionError as error:
        return {"error": f"RecursionError: {error}"}
    except Exception as error:  # Templates raise whatever Python does.
        return {"error": f"{type(error).__name__}: {error}"}
    return {"text": text}


def main(arguments):
    writes = "--write" in arguments
    numbers = [int(one) for one in arguments if one != "--write"]
    written = cases()
    extra = [f"{{{{ {one} }}}}" for one in random_expressions(*[*numbers, 1][:2])] if numbers else []
    every = [*written, *extra]
    variables = VARIABLES
    lines = [{"template": one, "variables": variables, "now": int(NOW.timestamp()) * 1000} for one in every]
    goldens, counts = [], {"equal": 0, "both refuse": 0, "not supported": 0, "address in memory": 0, "different": 0}
    for template, mine in zip(every, run_ours(lines), strict=True):
        theirs = expected(template)
        if re.search(r" at 0x[0-9a-f]+>", theirs.get("text", "")):
            counts["address in memory"] += 1
            continue
        goldens.append({"template": template, **theirs})
        if "text" in theirs and theirs["text"] == mine.get("text"):
            counts["equal"] += 1
        elif "error" in theirs and "error" in mine:
            counts["both refuse"] += 1
        elif "error" in mine and "not supported" in mine["error"]:
            counts["not supported"] += 1
        else:
            counts["different"] += 1
            print(f"DIFFERENT {template[:300]!r}")
            start = len(os.path.commonprefix([theirs.get("text", ""), mine.get("text", "")]))
            for name, one in (("transformers", theirs), ("ours", mine)):
                shown = one["text"][max(start - 30, 0) : start + 60] if "text" in one else one
                print(f"  {name}: {shown!r}"[:300])
    print(f"{len(every)} templates:", ", ".join(f"{number} {name}" for name, number in counts.items()))
    if writes:
        path = os.path.join(judge_templates.HERE, "language.json")
        with open(path, "w", encoding="utf-8") as file:
            rows = ",\n".join(json.dumps(one, ensure_ascii=True) for one in goldens[: len(written)])
            file.write(f'{{"variables": {json.dumps(variables)},\n"now": "{NOW.isoformat()}",\n"cases": [\n{rows}\n]}}\n')
    return counts["different"] > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
