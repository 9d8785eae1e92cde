"""Loads the model that make_adapter.ts merged with transformers and compares it with PEFT's own merge. Run
after interop_adapter.py: python interop_merge.py DIR"""

import sys
from pathlib import Path

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

directory = Path(sys.argv[1])
ours, info = AutoModelForCausalLM.from_pretrained(
    directory / "merged", torch_dtype=torch.float32, output_loading_info=True
)
theirs = PeftModel.from_pretrained(
    AutoModelForCausalLM.from_pretrained(directory / "base", torch_dtype=torch.float32), directory / "adapter"
).merge_and_unload()
left = {name: len(info[name]) for name in ("missing_keys", "unexpected_keys", "mismatched_keys")}
difference = max(
    (ours.state_dict()[name] - tensor).abs().max().item() for name, tensor in theirs.state_dict().items()
)
print(f"merged: {left}, largest difference to PEFT's merge of any weight {difference:.1e}")
assert not any(left.values()) and difference < 1e-6
