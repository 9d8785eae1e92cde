"""Writes ../golden/gpt_oss: weights.safetensors is a random gpt-oss of four layers, windowed and whole in turn,
with an adapter of all projections; window_N.{json,safetensors} are what transformers (eager, float32) makes
of two documents with a window of N keys: logits, losses, gradients of the adapter. The longer document is
longer than the window.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept: python
make_gpt_oss.py
"""

import json

import torch
from safetensors.torch import save_file

from make_families import FAMILIES, GOLDEN, LORA, VERSIONS, new_adapters, new_experts, run_adapted, weights_of

VOCABULARY = 64
ROPE = {**FAMILIES["gpt_oss"][1]["rope_parameters"], "original_max_position_embeddings": 64}
OTHER = dict(
    vocab_size=VOCABULARY,
    num_hidden_layers=4,
    num_local_experts=4,
    max_position_embeddings=256,
    rope_parameters=ROPE,
)
LENGTHS, PROMPTS = {8: [27, 14], 128: [140, 12]}, [4, 2]

(GOLDEN / "gpt_oss").mkdir(exist_ok=True)
for window, lengths in LENGTHS.items():
    # The same numbers from the same seed, whatever the window.
    model, config_json, named = new_experts("gpt_oss", sliding_window=window, **OTHER)
    kinds = ["sliding_attention", "full_attention"] * 2
    assert (config_json["layer_types"], config_json["sliding_window"]) == (kinds, window)
    weights = weights_of(model, named)
    adapters = {
        key: p.detach().bfloat16().float().requires_grad_() for key, p in new_adapters(weights).items()
    }
    stored = weights | {key: p.detach().bfloat16() for key, p in adapters.items()}
    save_file({key: t.contiguous() for key, t in stored.items()}, GOLDEN / "gpt_oss" / "weights.safetensors")
    ids = torch.randint(3, VOCABULARY, (sum(lengths),))
    _, logits, losses, targets = run_adapted(model, ids, adapters, 2.0, lengths, PROMPTS)
    tensors = {f"lora.{key}.grad": p.grad.contiguous().clone() for key, p in adapters.items()}
    tensors |= {"lora.logits": logits.detach().clone(), "lora.losses": losses.detach().clone()}
    save_file(tensors, GOLDEN / "gpt_oss" / f"window_{window}.safetensors")
    json_of = {"versions": VERSIONS, "config": config_json, "lora": LORA, "ids": ids.tolist()}
    json_of |= {"targets": targets.tolist(), "lengths": lengths}
    (GOLDEN / "gpt_oss" / f"window_{window}.json").write_text(json.dumps(json_of) + "\n")
    print(window, sum(losses).item())
