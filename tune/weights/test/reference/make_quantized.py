"""
Writes small quantised weights as their makers lay them out, with the values that their makers (or, for fp8
and nvfp4, the published formula in torch)
say they mean. Run: python make_quantized.py (needs torch, bitsandbytes, safetensors; made with torch 2.6.0,
bitsandbytes 0.50.2).
"""

from pathlib import Path

import bitsandbytes.functional as bnb
import torch
from safetensors.torch import save_file

here = Path(__file__).parent
torch.manual_seed(5)
ROWS = torch.tensor([0, 1, 127, 128, 129])  # both sides of an fp8 tile's and of an nf4 group's edge


def save(name: str, tensors: dict[str, torch.Tensor], values: torch.Tensor) -> None:
    rows = ROWS[ROWS < values.shape[0]]
    stored = {f"layer.{key}": tensor.contiguous() for key, tensor in tensors.items()}
    save_file(
        {**stored, "rows": rows, "expected": values[rows].float().contiguous()},
        here / f"{name}.safetensors",
        {"format": "pt"},
    )


weight = torch.randn(130, 128) * 0.02
codes, state = bnb.quantize_4bit(weight, blocksize=64, quant_type="nf4", compress_statistics=True)
save(
    "nf4",
    {"weight": codes, **{f"weight.{key}": tensor for key, tensor in state.as_dict(packed=True).items()}},
    bnb.dequantize_4bit(codes, state),
)

scales = torch.rand(2, 2) * 0.01 + 0.001
spread = scales.repeat_interleave(128, 0)[:130].repeat_interleave(128, 1)[:, :132]
codes = (torch.randn(130, 132) * 100).clamp(-448, 448).to(torch.float8_e4m3fn)
save("fp8", {"weight": codes, "weight_scale_inv": scales}, codes.float() * spread)

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
packed = torch.randint(0, 256, (130, 32), dtype=torch.uint8)
block = (torch.rand(130, 4) * 400 + 0.02).to(torch.float8_e4m3fn)
tensor_scale = torch.tensor(0.00123)
nibbles = torch.stack([packed & 15, packed >> 4], -1).reshape(130, 64).long()
numbers = E2M1[nibbles & 7] * torch.where(nibbles & 8 > 0, -1.0, 1.0)
values = (numbers.double() * block.double().repeat_interleave(16, 1) * tensor_scale.double()).float()
save(
    "nvfp4",
    {
        "weight": packed,
        "weight_scale": block,
        "weight_scale_2": tensor_scale,
        "input_scale": torch.tensor(0.5),
    },
    values,
)
