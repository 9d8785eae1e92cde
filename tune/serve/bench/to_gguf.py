"""Writes a plain Qwen3 directory as a GGUF file in bf16, for the comparison with llama.cpp: python to_gguf.py MODEL OUT.gguf (needs gguf, numpy)."""
import json, struct, sys

import gguf
import numpy

directory, out = sys.argv[1:]
config = json.load(open(f"{directory}/config.json"))
tokenizer = json.load(open(f"{directory}/tokenizer.json"))
writer = gguf.GGUFWriter(out, "qwen3")
writer.add_block_count(config["num_hidden_layers"])
writer.add_context_length(config["max_position_embeddings"])
writer.add_embedding_length(config["hidden_size"])
writer.add_feed_forward_length(config["intermediate_size"])
writer.add_head_count(config["num_attention_heads"])
writer.add_head_count_kv(config["num_key_value_heads"])
writer.add_key_length(config["head_dim"])
writer.add_value_length(config["head_dim"])
writer.add_rope_freq_base(config["rope_theta"])
writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)

names = {i: name for name, i in tokenizer["model"]["vocab"].items()} | {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
special = {token["id"] for token in tokenizer["added_tokens"]}
size = config["vocab_size"]
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([names.get(i, f"[unused{i}]") for i in range(size)])
writer.add_token_types([gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL if i in names else gguf.TokenType.UNUSED for i in range(size)])
# A tokenizer of bytes has no merges, and llama.cpp wants at least one.
writer.add_token_merges([" ".join(pair) if isinstance(pair, list) else pair for pair in tokenizer["model"]["merges"]] or ["a b"])
eos = config.get("eos_token_id", 0)
writer.add_eos_token_id(eos[0] if isinstance(eos, list) else eos)

PARTS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}


def rename(name):
    name = name.removesuffix(".weight").removeprefix("model.")
    if name.startswith("layers."):
        _, layer, part = name.split(".", 2)
        return f"blk.{layer}.{PARTS[part]}.weight"
    return {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}[name] + ".weight"


with open(f"{directory}/model.safetensors", "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        file.seek(8 + length + start)
        codes = numpy.frombuffer(file.read(end - start), dtype=numpy.uint16).reshape(entry["shape"])
        if codes.ndim == 1:
            # llama.cpp keeps norms in f32.
            writer.add_tensor(rename(name), (codes.astype(numpy.uint32) << 16).view(numpy.float32))
        else:
            writer.add_tensor(rename(name), numpy.ascontiguousarray(codes).view(numpy.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
