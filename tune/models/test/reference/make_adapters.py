"""Writes ../golden/adapters/KIND.{json,safetensors}: what PEFT makes of adapters with DoRA, with ranks and
alphas by pattern and with dropout, on the golden Qwen3 of families/: losses of its two documents and the
gradients of all that the adapter trains, in float32.

Dropout draws what our op draws: Philox4x32-10 keyed by the seed, its counter (element / 4, stream, step) with
stream -k of the k-th adapter; each lora_dropout is replaced by a product with that mask.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept:
python make_adapters.py
"""

import json
from pathlib import Path

import numpy as np
import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

GOLDEN = Path(__file__).parent.parent / "golden"
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SEED, STEP, RATE = 2**40 + 17, 5, 0.25
PATTERNS = dict(
    rank_pattern={"layers.1.mlp.up_proj": 6, "q_proj": 2, "up_proj": 3},
    alpha_pattern={"v_proj": 5, "layers.0.self_attn.q_proj": 3},
)
KINDS = {
    "dora": dict(use_dora=True),
    "patterns": PATTERNS,
    "patterns_rslora": dict(**PATTERNS, use_rslora=True),
    "dora_patterns": dict(**PATTERNS, use_dora=True),
    "dropout": dict(lora_dropout=RATE),
}


def philox(group, stream):
    c = [group & 0xFFFFFFFF, group >> 32, stream & 0xFFFFFFFF, STEP]
    k0, k1 = SEED & 0xFFFFFFFF, SEED >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (second >> 32) ^ c[1] ^ k0,
            second & 0xFFFFFFFF,
            (first >> 32) ^ c[3] ^ k1,
            first & 0xFFFFFFFF,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


class Mask(torch.nn.Module):
    """Dropout of the rows of a document, which lie at `start` in the packed batch."""

    def __init__(self, stream, where):
        super().__init__()
        self.stream, self.where = stream, where

    def forward(self, x):
        rows, columns = x.shape[-2:]
        first = self.where["start"] * columns
        words = [philox(g, self.stream) for g in range((first + rows * columns) // 4 + 1)]
        uniform = np.array(words).reshape(-1)[first : first + rows * columns] // 256 * 2.0**-24
        kept = torch.tensor(uniform >= np.float32(RATE)).reshape(rows, columns)
        return x * kept / (1 - RATE)


family = json.loads((GOLDEN / "families" / "qwen3.json").read_text())
weights = load_file(GOLDEN / "families" / "qwen3.safetensors")
ids, targets = torch.tensor(family["ids"]), torch.tensor(family["targets"])
(GOLDEN / "adapters").mkdir(exist_ok=True)

for kind, keys in KINDS.items():
    torch.manual_seed(11)
    config = transformers.Qwen3Config(**{**family["config"], "attn_implementation": "eager"})
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(weights[name].float())
    adapted = peft.get_peft_model(
        model, peft.LoraConfig(r=4, lora_alpha=8, target_modules=MODULES, task_type="CAUSAL_LM", **keys)
    ).train()
    where = {"start": 0}
    if kind == "dropout":
        linears = [
            module for _, module in adapted.named_modules() if isinstance(module, peft.tuners.lora.Linear)
        ]
        for k, linear in enumerate(linears):
            linear.lora_dropout["default"] = Mask(-1 - k, where)
    trained = {
        name.removeprefix("base_model.model.")
        .replace(".default", "")
        .replace("lora_magnitude_vector.weight", "lora_magnitude_vector"): p
        for name, p in adapted.named_parameters()
        if "lora_" in name
    }
    with torch.no_grad():
        for name, p in trained.items():
            p.copy_(
                p * (1 + 0.3 * torch.randn_like(p)) if "magnitude" in name else 0.1 * torch.randn_like(p)
            )
    losses = []
    for length in family["lengths"]:
        document = slice(where["start"], where["start"] + length)
        logits = adapted(input_ids=ids[document][None]).logits[0]
        losses.append(
            torch.nn.functional.cross_entropy(
                logits, targets[document], reduction="none", ignore_index=-100
            )
        )
        where["start"] += length
    losses = torch.cat(losses)
    losses.sum().backward()
    tensors = {name: p.detach().clone() for name, p in trained.items()}
    tensors |= {f"lora.{name}.grad": p.grad.clone() for name, p in trained.items()}
    tensors["lora.losses"] = losses.detach()
    save_file({name: t.contiguous() for name, t in tensors.items()}, GOLDEN / "adapters" / f"{kind}.safetensors")
    random = np.array([SEED & 0xFFFFFFFF, SEED >> 32, STEP], dtype=np.uint32).view(np.int32).tolist()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}
    settings = {"lora_rank": 4, "lora_alpha": 8, **keys}
    text = json.dumps({"versions": versions, "lora": settings, "random": random})
    (GOLDEN / "adapters" / f"{kind}.json").write_text(text + "\n")
    print(kind, losses.sum().item())
