"""The half of peft-run.ts that PEFT trains: python peft_run.py OUTPUT"""

import json
import os
import sys
import time

directory = sys.argv[1]
settings = json.load(open(os.path.join(directory, "settings.json")))
# Before torch is imported: it reads the variable then.
os.environ["OMP_NUM_THREADS"] = str(settings["threads"])

import torch
import transformers
from peft import PeftModel

IGNORED = -100

path = lambda name: os.path.join(directory, name)
torch.set_num_threads(settings["threads"])
dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[settings["peft_dtype"]]
model = transformers.AutoModelForCausalLM.from_pretrained(
    path("base"), dtype=dtype, attn_implementation="sdpa"
)
model.config.use_cache = False
model = PeftModel.from_pretrained(model, path("initial"), is_trainable=True)
model.train()
trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
optimizer = torch.optim.AdamW(
    trained,
    lr=settings["learning_rate"],
    betas=(settings["adam_beta1"], settings["adam_beta2"]),
    eps=settings["adam_epsilon"],
    weight_decay=settings["weight_decay"],
)
schedule = transformers.get_linear_schedule_with_warmup(
    optimizer, settings["warmup_steps"], settings["max_steps"]
)
print("torch", torch.__version__, "transformers", transformers.__version__, file=sys.stderr)


def loss_of(rows):
    """The mean over the trained tokens of a step."""
    length = max(len(row["tokens"]) for row in rows)
    pad = lambda values, value: values + [value] * (length - len(values))
    ids = torch.tensor([pad(row["tokens"], 0) for row in rows])
    targets = torch.tensor([pad(row["targets"], IGNORED) for row in rows])
    mask = torch.tensor([pad([1] * len(row["tokens"]), 0) for row in rows])
    logits = model(input_ids=ids, attention_mask=mask).logits
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1), ignore_index=IGNORED
    )


os.makedirs(path("peft"), exist_ok=True)
with open(path("peft/metrics.jsonl"), "w") as metrics:
    for step, line in enumerate(open(path("batches.jsonl")), start=1):
        start = time.perf_counter()
        loss = loss_of(json.loads(line))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, settings["max_grad_norm"])
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        seconds = time.perf_counter() - start
        record = {"step": step, "loss": loss.item(), "grad_norm": norm.item(), "seconds": seconds}
        metrics.write(json.dumps(record) + "\n")
        metrics.flush()
        if step % 10 == 0:
            print(f"PEFT: step {step} loss {loss.item():.4f}, {seconds:.1f} s", file=sys.stderr)
model.save_pretrained(path("peft"))
