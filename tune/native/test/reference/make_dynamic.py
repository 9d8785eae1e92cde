"""Writes golden/dynamic.json: the 8-bit dynamic maps of bitsandbytes and its blocks of 256 in them. Needs
torch and bitsandbytes."""

import base64
import json
from pathlib import Path

import bitsandbytes as bnb
import bitsandbytes.functional as F
import torch


def pack(tensor):
    return base64.b64encode(tensor.contiguous().numpy().tobytes()).decode()


def blocks(signed):
    generator = torch.Generator().manual_seed(3)
    # Sizes over many decades, as an optimizer's states have; the last block is short.
    x = torch.randn(700, generator=generator) * torch.exp(torch.randn(700, generator=generator) * 3)
    x = x if signed else x.abs()
    x[300:320] = 0
    code = F.create_dynamic_map(signed=signed)
    codes, state = F.quantize_blockwise(x, code=code, blocksize=256)
    return {"map": pack(code), "x": pack(x), "codes": pack(codes), "scales": pack(state.absmax)}


golden = {
    "versions": {"torch": torch.__version__, "bitsandbytes": bnb.__version__},
    "signed": blocks(True),
    "unsigned": blocks(False),
}
path = Path(__file__).parent.parent / "golden" / "dynamic.json"
path.write_text(json.dumps(golden, indent=1) + "\n")
print(path, path.stat().st_size)
