"""Writes ../golden/preferences.json: five steps of TRL's trainers on preferences, on the tiny Qwen3 of
tune/models/test/golden in float32 with its adapter.

Needs Python with torch, transformers, peft and trl (1.16); run by hand, the file it writes is kept. The data
are numbers of tokens; the trainers see them as words of a tokenizer that has one word a token.
"""

import json
import os
import random
import tempfile
from pathlib import Path

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
import peft
import torch
import transformers
import trl
from datasets import Dataset
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

here = Path(__file__).parent
models_golden = here.parent.parent.parent / "models/test/golden"
golden = json.loads((models_golden / "qwen3.json").read_text())
tensors = load_file(models_golden / "qwen3.safetensors")
STEPS, BATCH, ACCUMULATION, END = 5, 2, 2, 95

words = {f"t{i}": i for i in range(95)} | {"<e>": END}
inner = Tokenizer(models.WordLevel(words, unk_token="t0"))
inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<e>", pad_token="t0")

random.seed(11)
draw = lambda least, most: [random.randint(1, 94) for _ in range(random.randint(least, most))]
count = STEPS * BATCH * ACCUMULATION
pairs = [{"prompt": draw(2, 6), "chosen": draw(1, 7), "rejected": draw(1, 7)} for _ in range(count)]
text = lambda ids: " ".join(f"t{i}" for i in ids)
answer = lambda ids: f" {text(ids)} <e>"


def new_model():
    config = transformers.Qwen3Config(
        **golden["config"],
        max_position_embeddings=64,
        attn_implementation="eager",
        pad_token_id=0,
        eos_token_id=END,
    )
    model = transformers.Qwen3ForCausalLM(config).float()
    own = {name: tensors[name] for name, _ in model.named_parameters()}
    model.load_state_dict(own, strict=False)
    return model


lora = peft.LoraConfig(
    r=golden["lora"]["lora_rank"],
    lora_alpha=golden["lora"]["lora_alpha"],
    lora_dropout=0.0,
    target_modules=golden["lora"]["lora_target_modules"],
    task_type="CAUSAL_LM",
)


def run(trainer_class, config_class, rows, **settings):
    with tempfile.TemporaryDirectory() as directory:
        args = config_class(
            output_dir=directory,
            per_device_train_batch_size=BATCH,
            gradient_accumulation_steps=ACCUMULATION,
            max_steps=STEPS,
            learning_rate=0.01,
            lr_scheduler_type="linear",
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            bf16=False,
            use_cpu=True,
            gradient_checkpointing=False,
            train_sampling_strategy="sequential",
            **settings,
        )
        trainer = trainer_class(
            model=new_model(),
            args=args,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokenizer,
            peft_config=lora,
        )
        with torch.no_grad():
            for name, p in trainer.model.named_parameters():
                if "lora_" in name:
                    p.copy_(tensors[name.removeprefix("base_model.model.").replace(".default", "")])
        trainer.train()
    keep = ["loss", "grad_norm", "learning_rate", "kl", "nll_loss"]
    return [
        {key: value for key, value in entry.items() if key in keep or key.startswith(("rewards/", "logps/"))}
        for entry in trainer.state.log_history
        if "loss" in entry
    ]


as_pairs = [
    {"prompt": text(p["prompt"]), "chosen": answer(p["chosen"]), "rejected": answer(p["rejected"])}
    for p in pairs
]
labels = [bool(i % 3) for i in range(len(pairs))]
as_rated = [
    {"prompt": text(p["prompt"]), "completion": answer(p["chosen"]), "label": label}
    for p, label in zip(pairs, labels)
]
dpo = lambda **settings: run(trl.DPOTrainer, trl.DPOConfig, as_pairs, beta=0.1, max_length=None, **settings)
runs = {
    "dpo sigmoid": dpo(loss_type="sigmoid"),
    "dpo hinge": dpo(loss_type="hinge"),
    "dpo ipo": dpo(loss_type="ipo"),
    "dpo robust": dpo(loss_type="robust", label_smoothing=0.1),
    "kto": run(
        trl.KTOTrainer,
        trl.KTOConfig,
        as_rated,
        beta=0.1,
        max_length=None,
        desirable_weight=1.0,
        undesirable_weight=1.5,
    ),
    "orpo": run(ORPOTrainer, ORPOConfig, as_pairs, beta=0.1, max_length=64),
}
versions = {m.__name__: m.__version__ for m in (torch, transformers, peft, trl)}
out = here.parent / "golden/preferences.json"
out.write_text(
    json.dumps({"versions": versions, "end": END, "pairs": pairs, "labels": labels, "runs": runs}) + "\n"
)
for name, steps in runs.items():
    print(name, [round(s["loss"], 5) for s in steps], steps[0])
