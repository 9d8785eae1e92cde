"""Writes ../golden/codecs.json: what torch's float8 casts and bitsandbytes' NF4 say about a few thousand
numbers.

Needs Python with torch 2.6 and bitsandbytes 0.50; run by hand, the file it writes is kept. Arrays are base64
of little-endian values.
"""

import base64
import json
from pathlib import Path

import bitsandbytes as bnb
import bitsandbytes.functional as F
import torch


def pack(tensor):
    return base64.b64encode(tensor.detach().contiguous().cpu().numpy().tobytes()).decode()


def float8(dtype, largest):
    codes = torch.arange(256, dtype=torch.uint8)
    numbers = codes.view(dtype).float()
    finite = numbers[torch.isfinite(numbers)].unique()
    generator = torch.Generator().manual_seed(1)
    values = torch.cat(
        [
            finite,
            (finite[1:] + finite[:-1]) / 2,
            torch.nextafter((finite[1:] + finite[:-1]) / 2, torch.tensor(1e30)),
            torch.randn(600, generator=generator) * 10,
            torch.exp2(torch.rand(600, generator=generator) * 30 - 20),
        ]
    )
    values = values[values.abs() <= largest]
    return {
        "numbers": pack(torch.nan_to_num(numbers, nan=-1e30, posinf=1e30, neginf=-1e29)),
        "values": pack(values),
        "codes": pack(values.to(dtype).view(torch.uint8)),
    }


def nf4():
    x = torch.randn(48, 128, generator=torch.Generator().manual_seed(2)) * 0.05
    plain, plain_state = F.quantize_4bit(x, blocksize=64, quant_type="nf4", compress_statistics=False)
    double, state = F.quantize_4bit(x, blocksize=64, quant_type="nf4", compress_statistics=True)
    assert torch.equal(plain, double)
    return {
        "shape": list(x.shape),
        "x": pack(x),
        "codes": pack(plain),
        "absmax": pack(plain_state.absmax),
        "plain": pack(F.dequantize_4bit(plain, plain_state)),
        "scale_codes": pack(state.absmax),
        "group_scales": pack(state.state2.absmax),
        "offset": float(state.offset),
        "map": pack(state.state2.code),
        "double": pack(F.dequantize_4bit(double, state)),
    }


golden = {
    "versions": {"torch": torch.__version__, "bitsandbytes": bnb.__version__},
    "e4m3": float8(torch.float8_e4m3fn, 448),
    "e5m2": float8(torch.float8_e5m2, 57344),
    "nf4": nf4(),
}
path = Path(__file__).parent.parent / "golden" / "codecs.json"
path.write_text(json.dumps(golden, indent=1) + "\n")
print(path, path.stat().st_size)
