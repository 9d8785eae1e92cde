"""Writes saved/{tied,untied}: a tiny random Llama, adapters that PEFT made with modules_to_save, trainable tokens,
resized embeddings, and LoRA on embeddings and head, and PEFT's log-probabilities of a prompt for each.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept: python
make_saved_modules.py
"""

import copy
import json
import logging
import shutil
import warnings
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
VOCAB, MORE = 264, 270
SIZES = dict(
    vocab_size=VOCAB,
    hidden_size=16,
    intermediate_size=24,
    num_attention_heads=2,
    num_key_value_heads=1,
    num_hidden_layers=2,
    max_position_embeddings=64,
    bos_token_id=None,
    eos_token_id=2,
    pad_token_id=0,
)
BOTH = ["embed_tokens", "lm_head"]
CASES = {
    "both": dict(modules_to_save=BOTH),
    "embeddings": dict(modules_to_save=["embed_tokens"]),
    "head": dict(modules_to_save=["lm_head"]),
    "norms": dict(modules_to_save=["norm"]),
    "tied_together": dict(modules_to_save=BOTH, ensure_weight_tying=True),
    "tokens": dict(trainable_token_indices=[100, 7]),
    "tokens_by_module": dict(trainable_token_indices={"embed_tokens": [100, 7], "lm_head": [9]}),
    "lora_head": dict(target_modules=["q_proj", "lm_head"]),
    "lora_embeddings": dict(target_modules=["q_proj", "embed_tokens"]),
    "lora_both": dict(target_modules=["q_proj", "embed_tokens"], ensure_weight_tying=True),
    "resized": dict(size=MORE),
    "resized_tokens": dict(size=MORE, trainable_token_indices=[VOCAB, VOCAB + 1]),
}
USED = {
    "tied": CASES.keys() - {"norms"},
    "untied": ["both", "embeddings", "head", "norms", "tokens", "lora_head", "lora_embeddings", "resized_tokens"],
}
HERE = Path(__file__).parent / "saved"


def rounded(t):
    return t.bfloat16().float()


def write_base(path, is_tied):
    torch.manual_seed(5)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, tie_word_embeddings=is_tied)).float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(rounded((1.0 if "norm" in name else 0.0) + 0.3 * torch.randn_like(p)))
    model.bfloat16().save_pretrained(path)


def write_adapter(base, path, size=None, **settings):
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if size:
        model.resize_token_embeddings(size)
    # PEFT changes the lists that it is given.
    settings = copy.deepcopy(settings)
    config = peft.LoraConfig(r=4, lora_alpha=8, task_type="CAUSAL_LM", **{"target_modules": ["q_proj"], **settings})
    adapted = peft.get_peft_model(model, config)
    torch.manual_seed(6)
    with torch.no_grad():
        for name, p in adapted.named_parameters():
            is_resized = size and ("embed_tokens" in name or "lm_head" in name)
            if p.requires_grad or is_resized:
                p.add_(0.3 * torch.randn_like(p)).copy_(rounded(p))
    ids = torch.tensor([100, 7, 9, 50, 100, 9, 7, 200, 33, 9, 100, 61, 7, 7, 255, 9])
    if size:
        ids[[3, 8]] = torch.tensor([VOCAB, VOCAB + 1])
    adapted.eval()
    with torch.no_grad():
        logprobs = adapted(input_ids=ids[None]).logits[0].log_softmax(-1)
    adapted.save_pretrained(path)
    (path / "README.md").unlink()
    weights = path / "adapter_model.safetensors"
    save_file({key: t.bfloat16() for key, t in load_file(weights).items()}, weights, {"format": "pt"})
    return {"ids": ids.tolist(), "logprobs": [logprobs[i, t].item() for i, t in enumerate(ids[1:])]}


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    for kind, names in USED.items():
        base = HERE / kind / "base"
        write_base(base, kind == "tied")
        found = {name: write_adapter(base, HERE / kind / name, **CASES[name]) for name in sorted(names)}
        (HERE / kind / "logprobs.json").write_text(json.dumps(found) + "\n")
    for path in HERE.rglob("adapter_config.json"):
        text = json.loads(path.read_text())
        path.write_text(json.dumps({**text, "base_model_name_or_path": "base"}, indent=1) + "\n")
