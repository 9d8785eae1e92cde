"""Adapters of experts in PEFT's fused form (`target_parameters`), on the golden models of qwen3_moe and
gpt_oss (tune/models/test/golden/families): what PEFT saves, and what the adapted model says. Writes
fused/NAME/{adapter_config.json,adapter_model.safetensors,greedy.json} beside this file.

python make_fused.py               makes them
python make_fused.py judge DIR     loads DIR/NAME/run, which make_fused_adapters.ts trained, and compares losses

Needs torch, transformers and peft; run by hand, the files it writes are kept.
"""

import json
import sys
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import load_file

GOLDEN = Path(__file__).parents[3] / "models" / "test" / "golden"
FUSED = Path(__file__).parent / "fused"
PARAMETERS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]


def load(name, tensors, config):
    """A golden model; its experts are one tensor in transformers, in gpt-oss the other way round."""
    kind = transformers.AutoConfig.for_model(**config)
    kind._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(kind).float().eval()
    state = {}
    for key, parameter in model.named_parameters():
        if name == "qwen3_moe" and key.endswith("experts.gate_up_proj"):
            halves = [tensors[key.replace("gate_up", part) + ".weight"] for part in ("gate", "up")]
            value = torch.cat(halves, 1)
        elif ".experts." in key and parameter.dim() == 3:
            value = tensors[f"{key}.weight"]
            value = value.transpose(1, 2) if name == "gpt_oss" else value
        else:
            value = tensors[key]
        state[key] = value.float().contiguous()
    model.load_state_dict(state, strict=False)
    return model


def mean_loss(model, documents):
    total, count = 0.0, 0
    with torch.no_grad():
        for document in documents:
            row = torch.tensor([document])
            logits = model(input_ids=row).logits[0]
            total += torch.nn.functional.cross_entropy(logits[:-1], row[0, 1:], reduction="sum").item()
            count += len(document) - 1
    return total / count


def greedy(model, prompt, count=16):
    tokens, gaps = list(prompt), []
    with torch.no_grad():
        for _ in range(count):
            best = model(input_ids=torch.tensor([tokens])).logits[0, -1].topk(2)
            gaps.append((best.values[0] - best.values[1]).item())
            tokens.append(best.indices[0].item())
    assert min(gaps) > 1e-3, f"two tokens are as good as each other: {min(gaps)}"
    return tokens[len(prompt) :]


def golden(name):
    described = json.loads((GOLDEN / "families" / f"{name}.json").read_text())
    return described, load_file(GOLDEN / "families" / f"{name}.safetensors")


def make(name):
    described, tensors = golden(name)
    model = load(name, tensors, described["config"])
    prompts = described["greedy"]["prompts"]
    assert [greedy(model, prompt) for prompt in prompts] == described["greedy"]["answers"]
    torch.manual_seed(12)
    adapted = peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=3,
            lora_alpha=6,
            target_modules=["q_proj", "o_proj"],
            target_parameters=PARAMETERS,
            rank_pattern={"mlp.experts.down_proj": 2},
            alpha_pattern={"mlp.experts.down_proj": 4},
            task_type="CAUSAL_LM",
        ),
    )
    with torch.no_grad():
        for key, parameter in adapted.named_parameters():
            if "lora_" in key:
                parameter.copy_((0.15 * torch.randn_like(parameter)).bfloat16().float())
    directory = FUSED / name
    adapted.save_pretrained(directory)
    (directory / "README.md").unlink(missing_ok=True)
    config = json.loads((directory / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = None
    config["target_modules"].sort()
    (directory / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    answers = [greedy(adapted, prompt) for prompt in prompts]
    text = {"peft": peft.__version__, "transformers": transformers.__version__, "answers": answers}
    (directory / "greedy.json").write_text(json.dumps(text) + "\n")
    print(name, {k: tuple(v.shape) for k, v in load_file(directory / "adapter_model.safetensors").items()})
    print(answers != described["greedy"]["answers"], config["target_modules"], config["target_parameters"])


def judge(directory, name):
    if name == "gpt_oss":
        described, tensors = golden(name)
        model = load(name, tensors, described["config"])
    else:
        model = transformers.AutoModelForCausalLM.from_pretrained(directory / name / "model", dtype="float32")
        model = model.eval()
    ours = json.loads((directory / name / "loss.json").read_text())
    before = mean_loss(model, ours["documents"])
    adapted = peft.PeftModel.from_pretrained(model, directory / name / "run" / "adapter").eval()
    after = mean_loss(adapted, ours["documents"])
    with torch.no_grad():
        for key, parameter in adapted.named_parameters():
            if "experts" in key and "lora_B" in key:
                parameter.copy_(parameter.roll(1, dims=1))  # Every expert has the columns of another.
    changed = mean_loss(adapted, ours["documents"])
    print(
        f"{name}: loss before {before:.6f}, ours {ours['first']:.6f}; after: PEFT {after:.6f}, ours "
        f"{ours['last']:.6f}, apart {abs(after / ours['last'] - 1):.1e}; with columns of B moved by one {changed:.6f}"
    )
    assert abs(before / ours["first"] - 1) < 1e-5 and abs(after / ours["last"] - 1) < 1e-5
    assert abs(changed / after - 1) > 1e-4


for family in ("qwen3_moe", "gpt_oss"):
    if sys.argv[1:2] == ["judge"]:
        judge(Path(sys.argv[2]), family)
    else:
        make(family)
