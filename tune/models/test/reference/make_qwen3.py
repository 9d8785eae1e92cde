"""Writes ../golden/qwen3.safetensors and qwen3.json: a tiny Qwen3 of transformers in float32, its loss and
gradients, bare and with a PEFT adapter.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept. Two documents, each
run by itself.
"""

import json
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import save_file

torch.manual_seed(7)
config = transformers.Qwen3Config(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=16,
    intermediate_size=48,
    vocab_size=96,
    rms_norm_eps=1e-6,
    rope_theta=10000.0,
    tie_word_embeddings=True,
    max_position_embeddings=64,
    attn_implementation="eager",
)
lengths = [13, 8]
ids = torch.randint(0, 96, (sum(lengths),))
# Loss on all but the first tokens of each document, as a prompt is masked.
prompts = [4, 2]


def fill(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(1 + 0.2 * torch.randn_like(p) if "norm" in name else 0.25 * torch.randn_like(p))


def run(model):
    start, hidden, losses, targets = 0, [], [], []
    model.zero_grad()
    for length, prompt in zip(lengths, prompts):
        document = ids[start : start + length]
        target = torch.cat([document[1:], torch.tensor([-100])])
        target[: prompt - 1] = -100
        out = model(input_ids=document[None], output_hidden_states=True)
        hidden.append(out.hidden_states[-1][0])
        losses.append(
            torch.nn.functional.cross_entropy(out.logits[0], target, reduction="none", ignore_index=-100)
        )
        targets.append(target)
        start += length
    torch.cat(losses).sum().backward()
    return torch.cat(hidden), torch.cat(losses), torch.cat(targets)


model = transformers.Qwen3ForCausalLM(config).float().eval()
fill(model)
tensors = {name: p.detach().clone() for name, p in model.named_parameters()}
hidden, losses, targets = run(model)
tensors |= {f"bare.{name}.grad": p.grad.clone() for name, p in model.named_parameters()}
tensors |= {"bare.hidden": hidden.detach(), "bare.losses": losses.detach()}

modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
adapted = peft.get_peft_model(
    model, peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=modules, task_type="CAUSAL_LM")
)
with torch.no_grad():
    for name, p in adapted.named_parameters():
        if "lora_" in name:
            p.copy_(0.1 * torch.randn_like(p))
hidden, losses, _ = run(adapted)
for name, p in adapted.named_parameters():
    if "lora_" in name:
        short = name.removeprefix("base_model.model.").replace(".default", "")
        tensors |= {short: p.detach().clone(), f"lora.{short}.grad": p.grad.clone()}
tensors |= {"lora.hidden": hidden.detach(), "lora.losses": losses.detach()}

golden = Path(__file__).parent.parent / "golden"
save_file({name: t.contiguous() for name, t in tensors.items()}, golden / "qwen3.safetensors")
keys = [
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "rms_norm_eps",
    "rope_theta",
    "tie_word_embeddings",
]
(golden / "qwen3.json").write_text(
    json.dumps(
        {
            "versions": {
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "peft": peft.__version__,
            },
            "config": {key: getattr(config, key) for key in keys},
            "lora": {"lora_rank": 4, "lora_alpha": 8, "lora_target_modules": modules},
            "ids": ids.tolist(),
            "targets": targets.tolist(),
            "lengths": lengths,
        },
        indent=1,
    )
    + "\n"
)
print(sum(losses).item(), (golden / "qwen3.safetensors").stat().st_size)
