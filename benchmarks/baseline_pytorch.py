#!/usr/bin/env python3
"""The baseline: the same LoRA run by PyTorch, transformers and PEFT on this machine, with a result.json that
`cairn-tune bench matrix` reads.

    pip install torch transformers peft bitsandbytes
    python benchmarks/baseline_pytorch.py <model directory> bf16|fp32|nf4 --dataset problems.jsonl
    [--max-steps 5] [--threads 2]

The configuration is the benchmark's: rows of 2048 packed slots, batch 2, accumulation 4, rank 16, alpha 32 on
the seven linears (those of experts too), AdamW, linear rate from 2e-4.
Documents of a row see one another (one causal mask for the whole row): PyTorch's fastest attention on a CPU,
and less work per slot than a mask by documents would be.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import random
import resource
import sys
import time

SEQUENCE, BATCH, ACCUMULATION, SAMPLES = 2048, 2, 4, 10000
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
TARGETS = [*ATTENTION, "gate_proj", "up_proj", "down_proj"]
# Where the feed-forward part is experts, transformers has all of a layer's in two parameters.
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
IGNORED = -100
EXIT_OOM, EXIT_UNSUPPORTED = 3, 4


def read_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("recipe", choices=["bf16", "fp32", "nf4"])
    parser.add_argument("--dataset", required=True, help="JSONL with question and answer")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--max-steps", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--recompute", action="store_true", help="gradient checkpointing")
    return parser.parse_args()


def tokenize(tokenizer, question, answer):
    """Ids of one example and which of them the loss counts: the answer and the end token."""
    if tokenizer.chat_template:
        user = [{"role": "user", "content": question}]
        prompt = tokenizer.apply_chat_template(user, add_generation_prompt=True, tokenize=False)
        whole = tokenizer.apply_chat_template(
            [*user, {"role": "assistant", "content": answer}], tokenize=False
        )
        answer = whole[len(prompt) :]
        prompt_ids, answer_ids = (
            tokenizer(text, add_special_tokens=False)["input_ids"] for text in (prompt, answer)
        )
    else:
        prompt_ids = tokenizer(f"Question: {question}\nAnswer:")["input_ids"]
        answer_ids = [*tokenizer(f" {answer}", add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    ids = (prompt_ids + answer_ids)[:SEQUENCE]
    return ids, [IGNORED] * min(len(prompt_ids), len(ids)) + ids[len(prompt_ids) :]


def pack(documents, seed):
    """Best-fit-decreasing, then rows in random order."""
    rows, by_space = [], {}
    for ids, labels in sorted(documents, key=lambda document: -len(document[0])):
        space = min((left for left in by_space if left >= len(ids) and by_space[left]), default=SEQUENCE)
        row = by_space[space].pop() if by_space.get(space) else ([], [])
        if not row[0]:
            rows.append(row)
        row[0].extend(ids)
        row[1].extend([IGNORED, *labels[1:]])
        by_space.setdefault(SEQUENCE - len(row[0]), []).append(row)
    random.Random(seed).shuffle(rows)
    return rows


def main():
    args = read_arguments()
    # Before torch is imported: it reads the variable then.
    if args.threads:
        os.environ["OMP_NUM_THREADS"] = str(args.threads)
    import peft
    import torch
    import transformers

    threads = args.threads or len(os.sched_getaffinity(0))
    torch.set_num_threads(threads)
    torch.manual_seed(args.seed)
    started_at = datetime.datetime.now(datetime.timezone.utc)
    output = pathlib.Path(os.environ.get("OUTPUT_DIR", "./output")) / f"baseline_pytorch_{args.recipe}"
    output.mkdir(parents=True, exist_ok=True)
    steps = 0

    def write(outcome):
        is_short = args.samples < SAMPLES or args.max_steps is not None
        result = {
            "schema": 1,
            "program": "pytorch-peft",
            "program_version": f"torch {torch.__version__}, transformers {transformers.__version__}, "
            f"peft {peft.__version__}",
            "model": args.model,
            "recipe": args.recipe,
            "matmul": "f32" if args.recipe == "fp32" else "bf16",
            "dataset": args.dataset,
            "samples": args.samples,
            "is_short": is_short,
            "started_at": started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "hardware": f"{sys.platform} {platform.machine()}, {cpu_name()}, {threads} threads, "
            f"{torch.backends.cpu.get_cpu_capability()}",
            "threads": threads,
            "config": {
                "max_seq_length": SEQUENCE,
                "per_device_train_batch_size": BATCH,
                "gradient_accumulation_steps": ACCUMULATION,
                "packing": True,
                "lora_rank": 16,
                "lora_alpha": 32,
                "lora_target_modules": TARGETS,
                "recompute": args.recompute,
                "seed": args.seed,
                "max_steps": args.max_steps,
                "threads": args.threads,
            },
            "outcome": outcome,
        }
        (output / "result.json").write_text(json.dumps(result, indent=2) + "\n")

    try:
        extra = {}
        if args.recipe == "nf4":
            extra["quantization_config"] = transformers.BitsAndBytesConfig(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.bfloat16,
            )
        dtype = torch.float32 if args.recipe == "fp32" else torch.bfloat16
        tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
        try:
            config = transformers.AutoConfig.from_pretrained(args.model)
            has_experts = getattr(config, "num_experts", 0) > 0
            if has_experts:
                # The products of all experts in one call: the fastest that transformers has.
                extra["experts_implementation"] = "grouped_mm"
            model = transformers.AutoModelForCausalLM.from_pretrained(
                args.model, dtype=dtype, attn_implementation="sdpa", **extra
            )
            if args.recipe == "nf4":
                model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.recompute)
        except (ImportError, NotImplementedError, ValueError) as error:
            if args.recipe != "nf4":
                raise
            write({"status": "unsupported", "message": f"{type(error).__name__}: {error}"})
            print(f"nf4: not supported here: {error}")
            return EXIT_UNSUPPORTED
        model.config.use_cache = False
        model = peft.get_peft_model(
            model,
            peft.LoraConfig(
                r=16,
                lora_alpha=32,
                lora_dropout=0,
                bias="none",
                target_modules=ATTENTION if has_experts else TARGETS,
                target_parameters=EXPERTS if has_experts else None,
                task_type="CAUSAL_LM",
            ),
        )
        if args.recompute:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        model.train()

        examples = [json.loads(line) for line in open(args.dataset, encoding="utf-8") if line.strip()]
        unique = [
            tokenize(tokenizer, example["question"], example["answer"])
            for example in examples[: args.samples]
        ]
        rows = pack([unique[i % len(unique)] for i in range(args.samples)], args.seed)
        total = -(-len(rows) // (BATCH * ACCUMULATION))
        total = min(total, args.max_steps or total)

        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=2e-4, weight_decay=0.0)
        schedule = transformers.get_linear_schedule_with_warmup(optimizer, 0, total)
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        seconds, losses, real, counted = [], [], 0, 0
        for step in range(total):
            picked = [
                rows[(step * BATCH * ACCUMULATION + i) % len(rows)] for i in range(BATCH * ACCUMULATION)
            ]
            batches = []
            for at in range(0, len(picked), BATCH):
                part = picked[at : at + BATCH]
                batches.append(
                    (
                        torch.tensor([ids + [pad] * (SEQUENCE - len(ids)) for ids, _ in part]),
                        torch.tensor([labels + [IGNORED] * (SEQUENCE - len(labels)) for _, labels in part]),
                    )
                )
            tokens = sum(int((labels[:, 1:] != IGNORED).sum()) for _, labels in batches)
            real += sum(len(ids) for ids, _ in picked)
            counted += tokens
            start = time.perf_counter()
            loss_sum = 0.0
            for ids, labels in batches:
                logits = model(input_ids=ids).logits
                loss = (
                    torch.nn.functional.cross_entropy(
                        logits[:, :-1].reshape(-1, logits.shape[-1]).float(),
                        labels[:, 1:].reshape(-1),
                        ignore_index=IGNORED,
                        reduction="sum",
                    )
                    / tokens
                )
                loss.backward()
                loss_sum += loss.item()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            seconds.append(time.perf_counter() - start)
            losses.append(loss_sum)
            steps = step + 1
            print(
                f"step {steps}/{total} loss {loss_sum:.4f} "
                f"{SEQUENCE * BATCH * ACCUMULATION / seconds[-1]:.0f} tokens/s",
                flush=True,
            )
    except (MemoryError, RuntimeError) as error:
        # torch says "not enough memory" with a RuntimeError; anything else is a failure and no cell.
        if (
            not isinstance(error, MemoryError)
            and "not enough memory" not in str(error)
            and "can't allocate memory" not in str(error)
        ):
            raise
        write(
            {
                "status": "oom",
                "needed_bytes": 0,
                "budget_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                "message": f"after {steps} steps: {error}",
            }
        )
        print("OOM")
        return EXIT_OOM

    slots = SEQUENCE * BATCH * ACCUMULATION
    settled = sorted(seconds[2:] or seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    write(
        {
            "status": "ok",
            "steps": total,
            "seconds": sum(seconds),
            "tokens_per_second": total * slots / sum(seconds),
            "tokens_per_second_p50": slots / settled[len(settled) // 2],
            "real_tokens_per_second": real / sum(seconds),
            "trained_tokens_per_second": counted / sum(seconds),
            "first_loss": losses[0],
            "last_loss": losses[-1],
            "peak_rss_bytes": peak,
            "estimated_bytes": 0,
        }
    )
    print(
        f"{args.model} {args.recipe}: {total * slots / sum(seconds):.0f} tokens/s, peak "
        f"{peak / 2**30:.2f} GiB"
    )
    return 0


def cpu_name():
    try:
        return next(
            line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")
        )
    except (OSError, StopIteration):
        return platform.processor() or "unknown CPU"


if __name__ == "__main__":
    sys.exit(main())
