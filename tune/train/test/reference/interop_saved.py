"""Loads adapters with modules_to_save, trained tokens and added tokens in PEFT: python interop_saved.py BASE ADAPTER ...

Every tensor of each file must be in the PEFT model, with the same numbers.
"""

import sys

import peft
import torch
import transformers
from safetensors.torch import load_file

for path in sys.argv[2:]:
    stored = load_file(f"{path}/adapter_model.safetensors")
    model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
    sizes = [t.shape[0] for key, t in stored.items() if key.endswith(("embed_tokens.weight", "lm_head.weight"))]
    if sizes and sizes[0] != model.config.vocab_size:
        model.resize_token_embeddings(sizes[0])
    loaded = peft.PeftModel.from_pretrained(model, path)
    state = loaded.state_dict()
    for key, t in stored.items():
        options = [
            key.replace(".weight", ".default.weight"),
            key.replace("trainable_tokens_delta", "trainable_tokens_delta.default"),
            key.removesuffix(".weight") + ".modules_to_save.default.weight",
            key,
        ]
        found = next(name for name in options if name in state)
        assert torch.equal(state[found], t), (path, key)
    loaded(input_ids=torch.tensor([[100, 35, 111]]))
    print(path, len(stored), "tensors equal")
