"""Writes learning rates of transformers' get_scheduler. Run: python make_schedule.py (needs transformers,
torch; made with 4.57.6)."""

import json
from pathlib import Path

import torch
from transformers import get_scheduler

here = Path(__file__).parent
cases = []
for ours, theirs in {"linear": "linear", "cosine": "cosine", "constant": "constant_with_warmup"}.items():
    for warmup, steps in ((0, 7), (3, 10), (20, 238), (10, 5)):
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=2e-4)
        scheduler = get_scheduler(theirs, optimizer, num_warmup_steps=warmup, num_training_steps=steps)
        rates = []
        for _ in range(steps):
            rates.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        cases.append(
            {"lr_scheduler_type": ours, "warmup_steps": warmup, "total_steps": steps, "rates": rates}
        )
(here / "schedule.json").write_text(json.dumps(cases) + "\n")
