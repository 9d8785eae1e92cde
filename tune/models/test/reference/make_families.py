"""Writes ../golden/families/NAME.{json,safetensors}: a tiny random model of each dense family by transformers
in float32 (eager), what it makes of two documents,
the gradients of a PEFT adapter and of every norm and bias, and greedy tokens. config.json is as
save_pretrained writes it.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept: python
make_families.py [NAME ...]
"""

import json
import sys
import tempfile
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import save_file

SIZES = dict(
    vocab_size=272,
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    num_hidden_layers=2,
    bos_token_id=None,
    eos_token_id=2,
    pad_token_id=0,
)
SPLIT = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SHORT, LONG = [1.0, 1.1, 1.3], [1.5, 2.0, 4.0]
FAMILIES = {
    "llama": (
        transformers.LlamaConfig,
        dict(
            head_dim=16,
            tie_word_embeddings=True,
            attention_bias=True,
            mlp_bias=True,
            rope_parameters=dict(
                rope_type="llama3",
                rope_theta=100.0,
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        ),
        SPLIT,
    ),
    "mistral": (
        transformers.MistralConfig,
        dict(head_dim=16, sliding_window=6, rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
        SPLIT,
    ),
    "qwen2": (
        transformers.Qwen2Config,
        dict(
            tie_word_embeddings=True,
            use_sliding_window=True,
            sliding_window=5,
            max_window_layers=1,
            rope_parameters=dict(rope_type="linear", rope_theta=1000.0, factor=2.0),
        ),
        SPLIT,
    ),
    "qwen3": (
        transformers.Qwen3Config,
        dict(
            head_dim=16,
            tie_word_embeddings=True,
            attention_bias=True,
            rope_parameters=dict(
                rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=16
            ),
        ),
        SPLIT,
    ),
    "phi3": (
        transformers.Phi3Config,
        dict(
            sliding_window=7,
            max_position_embeddings=128,
            original_max_position_embeddings=40,
            rope_parameters=dict(
                rope_type="longrope",
                rope_theta=100.0,
                partial_rotary_factor=0.75,
                short_factor=SHORT,
                long_factor=LONG,
            ),
        ),
        ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
    ),
    "gemma3_text": (
        transformers.Gemma3TextConfig,
        dict(
            head_dim=16,
            query_pre_attn_scalar=24,
            sliding_window=5,
            layer_types=["sliding_attention", "full_attention"],
            rope_parameters=dict(
                full_attention=dict(rope_type="linear", rope_theta=5000.0, factor=4.0),
                sliding_attention=dict(rope_type="default", rope_theta=100.0),
            ),
        ),
        SPLIT,
    ),
    "smollm3": (
        transformers.SmolLM3Config,
        dict(no_rope_layers=[1, 0], rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
        SPLIT,
    ),
}
CLASSES = {"gemma3_text": transformers.Gemma3ForCausalLM}
LENGTHS, PROMPTS = [19, 11], [4, 2]


def fill(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            center = (0.0 if model.config.model_type == "gemma3_text" else 1.0) if "norm" in name else 0.0
            p.copy_((center + (0.2 if p.dim() == 1 else 0.25) * torch.randn_like(p)).bfloat16().float())


def run(model, ids):
    start, hidden, losses, targets = 0, [], [], []
    model.zero_grad()
    for length, prompt in zip(LENGTHS, PROMPTS):
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


def greedy(model, prompt, count):
    tokens, gaps = list(prompt), []
    with torch.no_grad():
        for _ in range(count):
            best = model(input_ids=torch.tensor([tokens])).logits[0, -1].topk(2)
            gaps.append((best.values[0] - best.values[1]).item())
            tokens.append(best.indices[0].item())
    assert min(gaps) > 1e-3, f"two tokens are as good as each other: {min(gaps)}"
    return tokens[len(prompt) :]


def make(name):
    kind, keys, modules = FAMILIES[name]
    torch.manual_seed(7)
    config = kind(**{**SIZES, **keys, "attn_implementation": "eager"})
    model = (
        transformers.AutoModelForCausalLM.from_config(config).float().eval()
        if name not in CLASSES
        else CLASSES[name](config).float().eval()
    )
    fill(model)
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        config_json = json.loads((Path(directory) / "config.json").read_text())
    tensors = {key: p.detach().clone().bfloat16() for key, p in model.named_parameters()}
    ids = torch.randint(3, 272, (sum(LENGTHS),))
    hidden, losses, targets = run(model, ids)
    tensors |= {f"bare.{key}.grad": p.grad.clone() for key, p in model.named_parameters() if p.dim() == 1}
    tensors |= {"bare.hidden": hidden.detach(), "bare.losses": losses.detach()}
    prompts = [torch.randint(3, 259, (length,)).tolist() for length in (1, 5, 12, 21)]
    answers = [greedy(model, prompt, 16) for prompt in prompts]
    adapted = peft.get_peft_model(
        model,
        peft.LoraConfig(r=4, lora_alpha=8, lora_dropout=0.0, target_modules=modules, task_type="CAUSAL_LM"),
    )
    with torch.no_grad():
        for key, p in adapted.named_parameters():
            if "lora_" in key:
                p.copy_(0.1 * torch.randn_like(p))
    hidden, losses, _ = run(adapted, ids)
    for key, p in adapted.named_parameters():
        if "lora_" in key:
            short = key.removeprefix("base_model.model.").replace(".default", "")
            tensors |= {short: p.detach().clone(), f"lora.{short}.grad": p.grad.clone()}
    tensors |= {"lora.hidden": hidden.detach(), "lora.losses": losses.detach()}
    golden = Path(__file__).parent.parent / "golden" / "families"
    save_file({key: t.contiguous() for key, t in tensors.items()}, golden / f"{name}.safetensors")
    (golden / f"{name}.json").write_text(
        json.dumps(
            {
                "versions": {
                    "torch": torch.__version__,
                    "transformers": transformers.__version__,
                    "peft": peft.__version__,
                },
                "config": config_json,
                "lora": {"lora_rank": 4, "lora_alpha": 8},
                "ids": ids.tolist(),
                "targets": targets.tolist(),
                "lengths": LENGTHS,
                "greedy": {"prompts": prompts, "answers": answers},
            }
        )
        + "\n"
    )
    print(name, sum(losses).item(), (golden / f"{name}.safetensors").stat().st_size)


for family in sys.argv[1:] or FAMILIES:
    make(family)
