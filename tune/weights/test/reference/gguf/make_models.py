"""
Writes a small model of each architecture as a GGUF file, by the gguf package's own tensor names, with the
tokenizer of ../tokenizer.
Run: python make_models.py (made with gguf 0.19.0 and numpy 2.4.6).
"""

import json
from pathlib import Path

import gguf
import numpy

here = Path(__file__).parent
HIDDEN, HEADS, KEY_HEADS, HEAD, FFN, VOCAB = 32, 4, 2, 8, 64, 432
TYPES = gguf.GGMLQuantizationType
tokenizer = json.loads((here.parent / "tokenizer" / "tokenizer.json").read_text())
template = (here.parent / "tokenizer" / "chat_template.jinja").read_text()


def values(name: str, shape: list[int]) -> numpy.ndarray:
    """Numbers that bf16 has, by name and place."""
    seed = sum(name.encode()) % 31
    places = numpy.indices(shape)
    return (((places[0] * 7 + places[-1] * 13 + seed) % 31 - 15) / 16).astype(numpy.float32)


def permute(weight: numpy.ndarray, heads: int) -> numpy.ndarray:
    """As convert_hf_to_gguf.py does for Llama's queries and keys."""
    return (
        weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:])
        .swapaxes(1, 2)
        .reshape(weight.shape)
    )


def weights(arch: str, layers: int) -> dict[str, list[int]]:
    inside = {
        "input_layernorm.weight": [HIDDEN],
        "self_attn.q_proj.weight": [HEADS * HEAD, HIDDEN],
        "self_attn.k_proj.weight": [KEY_HEADS * HEAD, HIDDEN],
        "self_attn.v_proj.weight": [KEY_HEADS * HEAD, HIDDEN],
        "self_attn.o_proj.weight": [HIDDEN, HEADS * HEAD],
        "post_attention_layernorm.weight": [HIDDEN],
        "mlp.gate_proj.weight": [FFN, HIDDEN],
        "mlp.up_proj.weight": [FFN, HIDDEN],
        "mlp.down_proj.weight": [HIDDEN, FFN],
    }
    if arch == "qwen3":
        inside |= {"self_attn.q_norm.weight": [HEAD], "self_attn.k_norm.weight": [HEAD]}
    if arch == "qwen2":
        inside |= {
            "self_attn.q_proj.bias": [HEADS * HEAD],
            "self_attn.k_proj.bias": [KEY_HEADS * HEAD],
            "self_attn.v_proj.bias": [KEY_HEADS * HEAD],
        }
    names = {"model.embed_tokens.weight": [VOCAB, HIDDEN], "model.norm.weight": [HIDDEN]} | (
        {} if arch == "qwen3" else {"lm_head.weight": [VOCAB, HIDDEN]}
    )
    return names | {
        f"model.layers.{layer}.{name}": shape for layer in range(layers) for name, shape in inside.items()
    }


def write(arch: str, layers: int) -> None:
    writer = gguf.GGUFWriter(here / f"{arch}.gguf", arch)
    writer.add_block_count(layers)
    writer.add_context_length(256)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5 if arch == "llama" else 1e-6)
    writer.add_rope_freq_base(500000.0 if arch == "llama" else 1e6)
    if arch == "llama":
        writer.add_rope_dimension_count(HEAD)
        writer.add_vocab_size(VOCAB)
    else:
        writer.add_key_length(HEAD)
        writer.add_value_length(HEAD)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    added = {token["id"]: token for token in tokenizer["added_tokens"]}
    named = {i: token for token, i in tokenizer["model"]["vocab"].items()} | {
        i: token["content"] for i, token in added.items()
    }
    writer.add_token_list([named.get(i, f"[PAD{i}]") for i in range(VOCAB)])
    kinds = gguf.TokenType
    writer.add_token_types(
        [
            kinds.UNUSED
            if i not in named
            else (kinds.CONTROL if added[i]["special"] else kinds.USER_DEFINED)
            if i in added
            else kinds.NORMAL
            for i in range(VOCAB)
        ]
    )
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    ids = {token: i for i, token in named.items()}
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_pad_token_id(ids["<|endoftext|>"])
    if arch == "llama":
        writer.add_bos_token_id(ids["<|im_start|>"])
        writer.add_eot_token_id(ids["<|endoftext|>"])
        writer.add_add_bos_token(True)
    writer.add_chat_template(template)
    names = gguf.get_tensor_name_map(
        {"qwen3": gguf.MODEL_ARCH.QWEN3, "qwen2": gguf.MODEL_ARCH.QWEN2, "llama": gguf.MODEL_ARCH.LLAMA}[
            arch
        ],
        layers,
    )
    for name, shape in weights(arch, layers).items():
        tensor = values(name, shape)
        if arch == "llama" and ("q_proj" in name or "k_proj" in name):
            tensor = permute(tensor, HEADS if "q_proj" in name else KEY_HEADS)
        # A plain type, a block of 32 and an f32 in every file.
        kind = (
            TYPES.F32
            if len(shape) == 1
            else TYPES.Q8_0
            if arch == "llama" or "down_proj" in name
            else TYPES.F16
            if "up_proj" in name
            else TYPES.BF16
        )
        raw = gguf.quants.quantize(tensor, kind)
        writer.add_tensor(
            names.get_name(name, try_suffixes=(".weight", ".bias")), raw, raw_shape=raw.shape, raw_dtype=kind
        )
    if arch == "llama":
        # As convert_hf_to_gguf.py computes them for Llama 3.1.
        frequencies = 1 / (numpy.float32(500000) ** (numpy.arange(0, HEAD, 2, dtype=numpy.float32) / HEAD))
        factor, low, high, length = 8, 1, 4, 8192
        divisors = []
        for frequency in frequencies:
            wavelength = 2 * numpy.pi / frequency
            smooth = (length / wavelength - low) / (high - low)
            divisors.append(
                1
                if wavelength < length / high
                else factor
                if wavelength > length / low
                else 1 / ((1 - smooth) / factor + smooth)
            )
        writer.add_tensor("rope_freqs.weight", numpy.array(divisors, dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


write("qwen3", 2)
write("qwen2", 1)
write("llama", 1)
