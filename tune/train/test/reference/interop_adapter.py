"""
Loads an adapter of ours in PEFT on a random model and compares what PEFT makes of it with the files
themselves; then the other way round.
Run: python interop_adapter.py DIR (needs transformers, peft; DIR is made by make_adapter.ts, which also reads
DIR/peft back).
"""

import json
import sys
from pathlib import Path

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

directory = Path(sys.argv[1])
torch.manual_seed(1)
config = AutoConfig.from_pretrained(directory / "model")
base = AutoModelForCausalLM.from_config(config).float().eval()
base.save_pretrained(directory / "base")
print(
    "config:",
    config.model_type,
    config.hidden_size,
    config.num_hidden_layers,
    "tied" if config.tie_word_embeddings else "untied",
)
ids = torch.arange(24).reshape(2, 12)
with torch.no_grad():
    before = base(ids).logits

stored = load_file(directory / "adapter" / "adapter_model.safetensors")
settings = json.loads((directory / "adapter" / "adapter_config.json").read_text())
scale = settings["lora_alpha"] / settings["r"]

# The same model with the products added to its weights by hand, in double precision, is what the adapter
# should mean.
state = {name: tensor.clone() for name, tensor in base.state_dict().items()}
by_hand = AutoModelForCausalLM.from_config(config).float().eval()
for name in [name for name in stored if name.endswith("lora_A.weight")]:
    linear = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
    delta = stored[name.replace("lora_A", "lora_B")].double() @ stored[name].double() * scale
    if ".experts." in linear:
        # transformers keeps experts as one tensor, gates above ups.
        stem, expert, part = linear.replace(".block_sparse_moe.", ".mlp.").rsplit(".", 2)
        fused = state[f"{stem}.{'down_proj' if part in ('down_proj', 'w2') else 'gate_up_proj'}"][int(expert)]
        first = fused.shape[0] // 2 if part in ("up_proj", "w3") else 0
        rows = fused[first : first + delta.shape[0]]
        rows.copy_((rows.double() + delta).float())
        continue
    state[f"{linear}.weight"] = (state[f"{linear}.weight"].double() + delta).float()
by_hand.load_state_dict(state)

model = PeftModel.from_pretrained(base, directory / "adapter").eval()
loaded = {name: tensor for name, tensor in model.state_dict().items() if "lora_" in name}
# Adapters of experts are fused as they are loaded; their logits alone judge them.
plain = {name: tensor for name, tensor in stored.items() if ".experts." not in name}
same = all(
    torch.equal(loaded[name.replace(".weight", ".default.weight")], tensor) for name, tensor in plain.items()
)
print("tensors:", len(stored), "loaded:", len(loaded), "bit for bit:", same)
with torch.no_grad():
    ours, theirs = by_hand(ids).logits, model(ids).logits
print(
    f"logits: adapter moves them by {(theirs - before).abs().max():.3f}; PEFT and by hand differ by "
    f"{(theirs - ours).abs().max():.2e}"
)

# A control: one number of one matrix off by .01 must show, in every kind of layer.
for kinds in [["self_attn.q_proj"], ["down_proj", ".w2."]]:
    name = next(name for name in stored if any(kind in name for kind in kinds) and "lora_B" in name)
    linear = name.removeprefix("base_model.model.").removesuffix(".lora_B.weight")
    change = torch.zeros_like(stored[name])
    change[0, 0] = 0.01
    delta = (change.double() @ stored[name.replace("lora_B", "lora_A")].double() * scale).float()
    with torch.no_grad():
        if ".experts." in linear:
            stem, expert, _ = linear.replace(".block_sparse_moe.", ".mlp.").rsplit(".", 2)
            weight = by_hand.get_parameter(f"{stem}.down_proj")[int(expert)]
        else:
            weight = by_hand.get_parameter(f"{linear}.weight")
        weight += delta
        moved = (model(ids).logits - by_hand(ids).logits).abs().max()
        weight -= delta
    print(f"control: {linear} off by .01 in one number of B: {moved:.1e}")

peft = get_peft_model(
    AutoModelForCausalLM.from_config(config),
    LoraConfig(r=4, lora_alpha=8, target_modules=["o_proj", "down_proj"], task_type="CAUSAL_LM"),
)
peft.save_pretrained(directory / "peft")
print("written by PEFT:", sum("lora_" in name for name in peft.state_dict()), "tensors")
assert (
    same
    and (len(plain) != len(stored) or len(stored) == len(loaded))
    and (theirs - ours).abs().max() < 1e-4 * theirs.abs().max()
)
