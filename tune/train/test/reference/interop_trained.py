"""Judges an adapter that we trained: PEFT loads it, its loss is the one our engine reported, and the merged
directory is a model that transformers loads.

node tune/train/test/reference/make_trained.ts DIRECTORY
python interop_trained.py DIRECTORY
"""

import json
import os
import sys

import peft
import torch
import transformers
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

directory = sys.argv[1]
path = lambda name: os.path.join(directory, name)
print("peft", peft.__version__, "transformers", transformers.__version__, "torch", torch.__version__)
tokenizer = AutoTokenizer.from_pretrained(path("model"))
texts = [json.loads(line)["text"] for line in open(path("data.jsonl"), encoding="utf-8")]
ids = [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in texts]


def load(name):
    return AutoModelForCausalLM.from_pretrained(path(name), torch_dtype=torch.float32).eval()


def run(model):
    """Logits of every document, and the mean loss over all tokens but the first of each."""
    logits, total, count = [], 0.0, 0
    with torch.no_grad():
        for document in ids:
            row = torch.tensor([document])
            out = model(row).logits[0].float()
            total += torch.nn.functional.cross_entropy(out[:-1], row[0, 1:], reduction="sum").item()
            count += len(document) - 1
            logits.append(out)
    return torch.cat(logits), total / count, count


ours = json.load(open(path("loss.json")))
base, base_loss, count = run(load("model"))
adapted, adapted_loss, _ = run(PeftModel.from_pretrained(load("model"), path("run/adapter")))
merged_model, report = AutoModelForCausalLM.from_pretrained(
    path("merged"), torch_dtype=torch.float32, output_loading_info=True
)
merged, merged_loss, _ = run(merged_model.eval())
distance = lambda a, b: ((a - b).norm() / b.norm()).item()
print(f"tokens: {count}, ours {ours['tokens']}")
print(
    f"loss before: {base_loss:.6f}, ours {ours['first']:.6f}, apart {abs(base_loss / ours['first'] - 1):.1e}"
)
print(
    f"loss after: PEFT {adapted_loss:.6f}, ours {ours['last']:.6f}, apart "
    f"{abs(adapted_loss / ours['last'] - 1):.1e}"
)
print(
    f"logits: the adapter moves them by {distance(adapted, base):.3f} of their length; merged (bf16) "
    f"and PEFT differ by {distance(merged, adapted):.1e}; merged loss {merged_loss:.6f}"
)
print("merged:", {key: len(value) for key, value in report.items()})
assert count == ours["tokens"]
assert abs(base_loss / ours["first"] - 1) < 1e-5 and abs(adapted_loss / ours["last"] - 1) < 1e-5
assert not any(report.values()) and distance(merged, adapted) < 0.02
