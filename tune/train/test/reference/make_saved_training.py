"""Writes saved/{tied,untied}-NAME and saved/training.json: adapters with modules_to_save and trainable tokens as PEFT
starts them, the losses of five AdamW steps from there on one document, and the trained weights' sums after them.
The bases are those of tune/serve/test/reference/saved.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept: python
make_saved_training.py
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
HERE = Path(__file__).parent / "saved"
BASES = Path(__file__).parent.parent.parent.parent / "serve/test/reference/saved"
TEXT = "Ana are mere, iar Ion are pere si prune."
BOTH = ["embed_tokens", "lm_head"]
CASES = {
    "tied-both": dict(modules_to_save=BOTH, ensure_weight_tying=True),
    "tied-tokens": dict(trainable_token_indices=[100, 35, 111]),
    "untied-both": dict(modules_to_save=BOTH),
    "untied-norm": dict(modules_to_save=["norm"]),
    "untied-tokens": dict(trainable_token_indices=[100, 35, 111]),
}


def run(name, settings):
    base = BASES / name.split("-")[0] / "base"
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    # PEFT changes the lists that it is given.
    settings = copy.deepcopy(settings)
    model = peft.get_peft_model(
        model,
        peft.LoraConfig(r=4, lora_alpha=8, task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"], **settings),
    )
    torch.manual_seed(8)
    with torch.no_grad():
        for key, p in model.named_parameters():
            if "lora_" in key:
                p.copy_((0.1 * torch.randn_like(p)).bfloat16().float())
    start = HERE / name
    model.save_pretrained(start)
    (start / "README.md").unlink()
    weights = start / "adapter_model.safetensors"
    save_file({key: t.bfloat16() for key, t in load_file(weights).items()}, weights, {"format": "pt"})
    config = json.loads((start / "adapter_config.json").read_text())
    (start / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "base"}, indent=1) + "\n")

    ids = torch.tensor([[byte + 3 for byte in TEXT.encode()] + [2]])
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.01, weight_decay=0.0)
    losses, norms = [], []
    for _ in range(5):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(trained, 1.0).item())
        optimizer.step()
        optimizer.zero_grad()
    after = peft.get_peft_model_state_dict(model, save_embedding_layers=False)
    sums = {key: [t.double().sum().item(), t.double().abs().sum().item()] for key, t in after.items()}
    return {"losses": losses, "norms": norms, "sums": sums}


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    found = {name: run(name, settings) for name, settings in CASES.items()}
    (HERE / "training.json").write_text(json.dumps({"text": TEXT, "runs": found}) + "\n")
    print({name: one["losses"] for name, one in found.items()})
