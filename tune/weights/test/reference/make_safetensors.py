"""Writes the safetensors golden with the format's own library. Run: python make_safetensors.py (needs
safetensors, numpy)."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save

here = Path(__file__).parent
tensors = {
    "b.weight": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "a.weight": np.array([[1.5, -2.0]], dtype=np.float16),
    "ids": np.array([1, -1, 2**40], dtype=np.int64),
    "ă.bytes": np.arange(5, dtype=np.uint8),
    "empty": np.zeros((0, 4), dtype=np.float32),
    "scalar": np.array(3, dtype=np.int32),
}
(here / "numpy.safetensors").write_bytes(save(tensors, {"format": "pt"}))
