"""Writes ../golden/families/NAME.{json,safetensors}: a tiny random model of each dense family by transformers
in float32 (eager), what it makes of two documents,
the gradients of a PEFT adapter and of every norm and bias, and greedy tokens. config.json is as
save_pretrained writes it.

Needs Python with torch, transformers and peft; run by hand, the files it writes are kept: python
make_families.py [NAME ...]
"""

import json
import re
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
FAMILIES["gemma"] = (
    transformers.GemmaConfig,
    dict(head_dim=16, rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
    SPLIT,
)
FAMILIES["olmo2"] = (
    transformers.Olmo2Config,
    dict(tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
    SPLIT,
)
FAMILIES["olmo3"] = (
    transformers.Olmo3Config,
    dict(
        sliding_window=5,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters=dict(
            full_attention=dict(
                rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=16
            ),
            sliding_attention=dict(rope_type="default", rope_theta=1000.0),
        ),
    ),
    SPLIT,
)
FAMILIES["granite"] = (
    transformers.GraniteConfig,
    dict(
        attention_bias=True,
        mlp_bias=True,
        embedding_multiplier=3.0,
        residual_multiplier=0.6,
        attention_multiplier=0.2,
        logits_scaling=5.0,
        rope_parameters=dict(rope_type="default", rope_theta=1000.0),
    ),
    SPLIT,
)
FAMILIES["gemma2"] = (
    transformers.Gemma2Config,
    dict(
        head_dim=16,
        query_pre_attn_scalar=24,
        sliding_window=5,
        attn_logit_softcapping=1.5,
        final_logit_softcapping=3.0,
        rope_parameters=dict(rope_type="default", rope_theta=1000.0),
    ),
    SPLIT,
)
FAMILIES["glm4"] = (
    transformers.Glm4Config,
    dict(
        head_dim=16,
        rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5),
    ),
    ["q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj"],
)
# Layer 0 is dense. Windows are in every layer, whatever max_window_layers says.
MOE = dict(
    head_dim=16,
    num_experts=6,
    num_experts_per_tok=2,
    moe_intermediate_size=24,
    mlp_only_layers=[0],
    use_sliding_window=True,
    sliding_window=5,
    rope_parameters=dict(rope_type="default", rope_theta=1000.0),
)
FAMILIES["qwen3_moe"] = (transformers.Qwen3MoeConfig, dict(**MOE, norm_topk_prob=True), SPLIT)
FAMILIES["qwen2_moe"] = (
    transformers.Qwen2MoeConfig,
    dict(
        num_experts=6,
        num_experts_per_tok=2,
        moe_intermediate_size=24,
        shared_expert_intermediate_size=32,
        mlp_only_layers=[0],
        use_sliding_window=True,
        sliding_window=5,
        layer_types=["full_attention", "sliding_attention"],
        rope_parameters=dict(rope_type="default", rope_theta=1000.0),
    ),
    SPLIT,
)
FAMILIES["mixtral"] = (
    transformers.MixtralConfig,
    dict(
        head_dim=16,
        num_local_experts=6,
        num_experts_per_tok=2,
        intermediate_size=24,
        sliding_window=5,
        rope_parameters=dict(rope_type="default", rope_theta=1000.0),
    ),
    SPLIT,
)
FAMILIES["gpt_oss"] = (
    transformers.GptOssConfig,
    dict(
        head_dim=16,
        num_local_experts=6,
        num_experts_per_tok=2,
        intermediate_size=32,
        swiglu_limit=0.4,
        sliding_window=6,
        rope_parameters=dict(
            rope_type="yarn",
            rope_theta=1000.0,
            factor=4.0,
            truncate=False,
            original_max_position_embeddings=16,
        ),
    ),
    SPLIT,
)
CLASSES = {"gemma3_text": transformers.Gemma3ForCausalLM}
LENGTHS, PROMPTS = [19, 11], [4, 2]


def fill(model):
    with torch.no_grad():
        for name, p in model.named_parameters():
            center = (0.0 if model.config.model_type in ("gemma", "gemma2", "gemma3_text") else 1.0) if "norm" in name else 0.0
            p.copy_((center + (0.2 if p.dim() == 1 else 0.25) * torch.randn_like(p)).bfloat16().float())


def run(model, ids, lengths=LENGTHS, prompts=PROMPTS):
    start, hidden, logits, losses, targets = 0, [], [], [], []
    model.zero_grad()
    for length, prompt in zip(lengths, prompts):
        document = ids[start : start + length]
        target = torch.cat([document[1:], torch.tensor([-100])])
        target[: prompt - 1] = -100
        out = model(input_ids=document[None], output_hidden_states=True)
        hidden.append(out.hidden_states[-1][0])
        logits.append(out.logits[0])
        losses.append(
            torch.nn.functional.cross_entropy(out.logits[0], target, reduction="none", ignore_index=-100)
        )
        targets.append(target)
        start += length
    torch.cat(losses).sum().backward()
    return torch.cat(hidden), torch.cat(logits), torch.cat(losses), torch.cat(targets)


def greedy(model, prompt, count):
    tokens, gaps = list(prompt), []
    with torch.no_grad():
        for _ in range(count):
            best = model(input_ids=torch.tensor([tokens])).logits[0, -1].topk(2)
            gaps.append((best.values[0] - best.values[1]).item())
            tokens.append(best.indices[0].item())
    assert min(gaps) > 1e-3, f"two tokens are as good as each other: {min(gaps)}"
    return tokens[len(prompt) :]


def to_mxfp4(t):
    """Numbers that MXFP4 holds exactly, nearest those of t along its last dimension."""
    grid = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    blocks = t.reshape(*t.shape[:-1], -1, 32)
    scale = torch.exp2(torch.floor(torch.log2(blocks.abs().amax(-1, keepdim=True))) - 2)
    nearest = (blocks.abs()[..., None] / scale[..., None] - grid).abs().argmin(-1)
    return (blocks.sign() * grid[nearest] * scale).reshape(t.shape)


def stored_name(model, key):
    """The name of a parameter in a checkpoint."""
    return key.replace(".mlp.", ".block_sparse_moe.") if model.config.model_type == "mixtral" else key


def parts_of_experts(model):
    """A model's fused matrices of experts by the names of a checkpoint, with the expert's number left out:
    (parameter, its first row, its rows)."""
    parts = {}
    is_mixtral = model.config.model_type == "mixtral"
    gate, up, down = ["w1", "w3", "w2"] if is_mixtral else ["gate_proj", "up_proj", "down_proj"]
    for key, p in model.named_parameters():
        if model.config.model_type == "gpt_oss" and p.dim() == 3:
            parts[key] = (key, 0, p.shape[2])
        elif key.endswith("experts.gate_up_proj"):
            half = p.shape[1] // 2
            for i, part in enumerate([gate, up]):
                parts[stored_name(model, key.replace("gate_up_proj", part))] = (key, i * half, half)
        elif key.endswith("experts.down_proj"):
            parts[stored_name(model, key.replace("down_proj", down))] = (key, 0, p.shape[1])
    return parts


def run_adapted(model, ids, adapters, scale, *documents):
    """As `run`, with scale * B @ A added to each weight that has an adapter: what PEFT's layers compute, and
    for experts' matrices what it makes of an adapter of each."""
    weights = dict(model.named_parameters())
    experts = parts_of_experts(model)
    is_transposed = model.config.model_type == "gpt_oss"
    changed = dict(weights)
    for name in {key.rsplit(".lora_", 1)[0] for key in adapters}:
        delta = scale * adapters[f"{name}.lora_B.weight"] @ adapters[f"{name}.lora_A.weight"]
        if name in experts:
            key, first, count = experts[name]
            if is_transposed:
                changed[key] = changed[key] + delta.transpose(1, 2)
                continue
            pad = (0, 0, first, weights[key].shape[1] - first - count)
            changed[key] = changed[key] + torch.nn.functional.pad(delta, pad)
        else:
            changed[f"{name}.weight"] = weights[f"{name}.weight"] + delta

    def call(**inputs):
        return torch.func.functional_call(model, changed, kwargs=inputs)

    call.zero_grad = model.zero_grad
    return run(call, ids, *documents)


def new_experts(name, **other):
    """A random model with experts, its config.json, and what gives a value of each parameter the names and
    shapes that our programs have."""
    kind, keys, _ = FAMILIES[name]
    torch.manual_seed(7)
    model = transformers.AutoModelForCausalLM.from_config(
        kind(**{**SIZES, **keys, **other, "attn_implementation": "eager", "experts_implementation": "eager"})
    )
    model = model.float().eval()
    fill(model)
    is_transposed = name == "gpt_oss"
    if is_transposed:
        with torch.no_grad():
            for key, p in model.named_parameters():
                if p.dim() == 3:
                    p.copy_(to_mxfp4(p.transpose(1, 2)).transpose(1, 2))
    with tempfile.TemporaryDirectory() as directory:
        model.save_pretrained(directory)
        config_json = json.loads((Path(directory) / "config.json").read_text())
    experts = parts_of_experts(model)

    def named(values):
        fused = {key for key, _, _ in experts.values()}
        found = {stored_name(model, key): value for key, value in values.items() if key not in fused}
        for part, (key, first, count) in experts.items():
            value = values[key].transpose(1, 2) if is_transposed else values[key]
            found[f"{part}.weight"] = value[:, first : first + count].clone()
        return found

    return model, config_json, named


def weights_of(model, named):
    return {
        key: p.bfloat16() for key, p in named({k: p.detach() for k, p in model.named_parameters()}).items()
    }


def new_adapters(weights):
    """Random ones of rank 4, of feed-forward parts of rank 2."""
    adapters = {}
    for key in [key.removesuffix(".weight") for key in weights if re.search(r"(proj|\.w[123])\.weight$", key)]:
        shape = weights[f"{key}.weight"].shape
        rank, count = 4 if ".self_attn." in key else 2, list(shape[:-2])
        adapters[f"{key}.lora_A.weight"] = (0.1 * torch.randn(*count, rank, shape[-1])).requires_grad_()
        adapters[f"{key}.lora_B.weight"] = (0.1 * torch.randn(*count, shape[-2], rank)).requires_grad_()
    return adapters


LORA = {"lora_rank": 4, "lora_alpha": 8, "lora_expert_rank": 2}


def make_moe(name):
    model, config_json, named = new_experts(name)
    tensors = weights_of(model, named)
    ids = torch.randint(3, 272, (sum(LENGTHS),))
    hidden, _, losses, targets = run(model, ids)
    grads = named({key: p.grad for key, p in model.named_parameters()})
    wanted = {
        key: g
        for key, g in grads.items()
        if g.dim() == 1 or ".experts." in key or re.search(r"\.(gate|router|shared_expert_gate)\.", key)
    }
    tensors |= {f"bare.{key}.grad": g.clone() for key, g in wanted.items()}
    tensors |= {"bare.hidden": hidden.detach(), "bare.losses": losses.detach()}
    prompts = [torch.randint(3, 259, (length,)).tolist() for length in (1, 5, 12, 21)]
    answers = [greedy(model, prompt, 16) for prompt in prompts]
    adapters = new_adapters(tensors)
    hidden, _, losses, _ = run_adapted(model, ids, adapters, 2.0)
    for key, p in adapters.items():
        tensors |= {key: p.detach().clone(), f"lora.{key}.grad": p.grad.clone()}
    tensors |= {"lora.hidden": hidden.detach(), "lora.losses": losses.detach()}
    write(name, tensors, config_json, LORA, ids, targets, prompts, answers)
    print(name, sum(losses).item())


GOLDEN = Path(__file__).parent.parent / "golden"
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}


def write(name, tensors, config_json, lora, ids, targets, prompts, answers):
    golden = GOLDEN / "families"
    save_file({key: t.contiguous() for key, t in tensors.items()}, golden / f"{name}.safetensors")
    text = json.dumps(
        {
            "versions": VERSIONS,
            "config": config_json,
            "lora": lora,
            "ids": ids.tolist(),
            "targets": targets.tolist(),
            "lengths": LENGTHS,
            "greedy": {"prompts": prompts, "answers": answers},
        }
    )
    (golden / f"{name}.json").write_text(text + "\n")


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
    hidden, _, losses, targets = run(model, ids)
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
    hidden, _, losses, _ = run(adapted, ids)
    for key, p in adapted.named_parameters():
        if "lora_" in key:
            short = key.removeprefix("base_model.model.").replace(".default", "")
            tensors |= {short: p.detach().clone(), f"lora.{short}.grad": p.grad.clone()}
    tensors |= {"lora.hidden": hidden.detach(), "lora.losses": losses.detach()}
    write(name, tensors, config_json, {"lora_rank": 4, "lora_alpha": 8}, ids, targets, prompts, answers)
    print(name, sum(losses).item())


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        is_moe = "moe" in family or family in ("mixtral", "gpt_oss")
        (make_moe if is_moe else make)(family)
