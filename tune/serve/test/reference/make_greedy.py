"""Greedy answers of transformers and PEFT in float32 to 200 prompts, base and adapters: python make_greedy.py
DIR > greedy.json (DIR is made by write_models.ts)."""

import json
import random
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

TOKENS = 16
directory = sys.argv[1]
torch.set_num_threads(1)
random.seed(7)
prompts = [
    [random.randrange(3, 259) for _ in range(random.choice([1, 2, 3, 7, 15, 16, 17, 31, 40]))]
    for _ in range(200)
]


def load():
    return AutoModelForCausalLM.from_pretrained(
        f"{directory}/base", torch_dtype=torch.float32, attn_implementation="eager"
    ).eval()


@torch.no_grad()
def answers(model):
    out, least, logprobs = [], 1e9, []
    for prompt in prompts:
        ids, cache, new = torch.tensor([prompt]), None, []
        for step in range(TOKENS):
            result = model(ids, past_key_values=cache, use_cache=True)
            cache, logits = result.past_key_values, result.logits[0, -1]
            best = logits.topk(2)
            least = min(least, float(best.values[0] - best.values[1]))
            new.append(int(best.indices[0]))
            if step == 0:
                logprobs.append(round(float(torch.log_softmax(logits, -1)[new[0]]), 5))
            ids = torch.tensor([[new[-1]]])
        out.append(new)
    print(f"least gap between the two best: {least:.2g}", file=sys.stderr)
    return {"tokens": out, "first_logprobs": logprobs}


found = {"base": answers(load())}
for name in ("wide", "narrow"):
    found[name] = answers(PeftModel.from_pretrained(load(), f"{directory}/{name}").eval())
json.dump({"prompts": prompts, **found}, sys.stdout, separators=(",", ":"))
