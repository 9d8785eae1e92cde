#!/usr/bin/env python3
"""LoRA micro-steps by PyTorch, transformers and PEFT on a card with random weights: what `npm run dev -- bench:cuda`
measures, two rows of 2048 and rank 16 on the seven linears, forward and backward.

    python benchmarks/step_pytorch.py qwen3-0.6b [layers] [repeats]
"""

import sys
import time

import peft
import torch
import transformers

SHAPES = {
    # hidden, feed-forward, layers, heads, key heads, whether the head is the embedding
    "qwen3-0.6b": (1024, 3072, 28, 16, 8, True),
    "qwen3-1.7b": (2048, 6144, 28, 16, 8, True),
    "qwen3-4b": (2560, 9728, 36, 32, 8, True),
    "qwen3-8b": (4096, 12288, 36, 32, 8, False),
}
ROWS, LENGTH, WARM_UP = 2, 2048, 2
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def main():
    shape = sys.argv[1]
    hidden, ffn, whole, heads, kv_heads, tied = SHAPES[shape]
    layers = int(sys.argv[2]) if len(sys.argv) > 2 and int(sys.argv[2]) else whole
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    config = transformers.Qwen3Config(
        vocab_size=151936,
        hidden_size=hidden,
        intermediate_size=ffn,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=128,
        tie_word_embeddings=tied,
        use_cache=False,
    )
    torch.manual_seed(1)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa")
        lora = peft.LoraConfig(r=16, lora_alpha=32, target_modules=TARGETS, task_type="CAUSAL_LM")
        model = peft.get_peft_model(model, lora)
        torch.set_default_dtype(torch.float32)
    model.train()
    ids = torch.randint(0, 151936, (ROWS, LENGTH), device="cuda")
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    seconds = []
    for i in range(WARM_UP + repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(input_ids=ids, labels=ids).loss.backward()
        torch.cuda.synchronize()
        if i >= WARM_UP:
            seconds.append(time.perf_counter() - start)
        for parameter in trained:
            parameter.grad = None
    median = sorted(seconds)[len(seconds) // 2]
    peak = torch.cuda.max_memory_allocated() / 2**30
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}, peft {peft.__version__}"
    print(
        f"| {shape}, {layers} of {whole} layers | pytorch bf16 | {ROWS * LENGTH / median:.0f} | "
        f"{median * 1000:.1f} | {peak:.1f} GiB | {versions} | {torch.cuda.get_device_name()}"
    )


if __name__ == "__main__":
    main()
