"""Writes ../golden/balance/NAME.safetensors: the loss that keeps experts busy alike, by transformers with
output_router_logits, on the golden models with experts of families/: its value times the number of trained
tokens, and the gradients of norms, biases and routers of the whole loss, in float32.

Needs Python with torch and transformers; run by hand, the files it writes are kept: python make_balance.py
"""

import json
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

GOLDEN = Path(__file__).parent.parent / "golden"
COEFFICIENT = 0.3
CONFIGS = {"qwen3_moe": transformers.Qwen3MoeConfig, "gpt_oss": transformers.GptOssConfig}
(GOLDEN / "balance").mkdir(exist_ok=True)

for name, kind in CONFIGS.items():
    family = json.loads((GOLDEN / "families" / f"{name}.json").read_text())
    stored = load_file(GOLDEN / "families" / f"{name}.safetensors")
    config = kind(
        **{**family["config"], "attn_implementation": "eager", "experts_implementation": "eager"}
    )
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    is_transposed = name == "gpt_oss"
    with torch.no_grad():
        for key, p in model.named_parameters():
            if key in stored:
                p.copy_(stored[key].float())
                continue
            if is_transposed:
                value = stored[f"{key}.weight"].float().transpose(1, 2)
            elif key.endswith("gate_up_proj"):
                names = [key.replace("gate_up_proj", part) for part in ("gate_proj", "up_proj")]
                value = torch.cat([stored[f"{part}.weight"] for part in names], dim=1).float()
            else:
                value = stored[f"{key}.weight"].float()
            p.copy_(value)
    ids, targets = torch.tensor(family["ids"]), torch.tensor(family["targets"])
    longest = max(family["lengths"])
    rows, mask, start = [], [], 0
    for length in family["lengths"]:
        pad = longest - length
        rows.append(torch.nn.functional.pad(ids[start : start + length], (0, pad)))
        mask.append(torch.tensor([1] * length + [0] * pad))
        start += length
    mask = torch.stack(mask)
    out = model(input_ids=torch.stack(rows), attention_mask=mask, output_router_logits=True)
    logits = out.logits[mask.bool()]
    loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum", ignore_index=-100)
    balance = COEFFICIENT * (targets != -100).sum() * out.aux_loss
    (loss + balance).backward()
    tensors = {
        f"{key}.grad": p.grad.clone()
        for key, p in model.named_parameters()
        if p.dim() == 1 or "mlp.gate." in key or "mlp.router." in key
    }
    tensors["balance"] = balance.detach().reshape(1)
    save_file(tensors, GOLDEN / "balance" / f"{name}.safetensors")
    print(name, loss.item(), balance.item())
