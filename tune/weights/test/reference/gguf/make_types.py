"""
Writes blocks of every type that is read here, with the numbers that the gguf package says they mean, in one
GGUF file.
Run: python make_types.py (made with gguf 0.19.0 and numpy 2.4.6).
"""

from pathlib import Path

import gguf
import numpy

TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "MXFP4"]
# Bytes of a block at which an f16 begins.
HALVES = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}
random = numpy.random.default_rng(31)


def halves(count: int) -> numpy.ndarray:
    """Every size that is finite; where values are left zeros, the smallest and the largest number."""
    codes = random.integers(0, 1 << 16, count, dtype=numpy.uint16)
    if count > 4:
        codes[:4] = [0x0000, 0x8000, 0x0001, 0x7BFF]
    return numpy.where((codes & 0x7C00) == 0x7C00, codes & 0xBFFF, codes).astype(numpy.uint16)


def stored(kind: gguf.GGMLQuantizationType, rows: int, columns: int) -> numpy.ndarray:
    block, size = gguf.GGML_QUANT_SIZES[kind]
    count = rows * columns // block
    if kind.name in ("F32", "F16", "BF16"):
        values = random.standard_normal(count).astype(numpy.float32)
        values[:5] = [0.0, -0.0, 1e-40, -65504, 3.0000001]
        codes = gguf.quants.quantize(values, kind)
        return codes.view(numpy.uint8).reshape(rows, -1)
    blocks = random.integers(0, 256, (count, size), dtype=numpy.uint8)
    for at in HALVES.get(kind.name, []):
        blocks[:, at : at + 2] = halves(count).view(numpy.uint8).reshape(count, 2)
    if kind.name == "MXFP4":
        # All scales that a number can have; those beyond make infinities of the largest codes.
        blocks[:, 0] = numpy.clip(blocks[:, 0], 0, 252)
        blocks[:3, 0] = [0, 1, 2] if count > 4 else blocks[:3, 0]
    return blocks.reshape(rows, -1)


writer = gguf.GGUFWriter(Path(__file__).with_name("types.gguf"), "types")
for name in TYPES:
    kind = gguf.GGMLQuantizationType[name]
    block, _ = gguf.GGML_QUANT_SIZES[kind]
    # Rows of one block, of an odd number of blocks, and a single row; plain numbers have rows of no round
    # length.
    for rows, columns in [(1, block), (5, block), (3, 3 * block)] if block > 1 else [(1, 7), (3, 5), (2, 33)]:
        raw = stored(kind, rows, columns)
        writer.add_tensor(f"{name}.{rows}x{columns}", raw, raw_shape=raw.shape, raw_dtype=kind)
        values = gguf.quants.dequantize(raw, kind).astype(numpy.float32).reshape(rows, columns)
        assert numpy.isfinite(values).all(), name
        writer.add_tensor(f"{name}.{rows}x{columns}.expected", values)
# What Q8_0 is made of, and made by the package.
values = (random.standard_normal((4, 96)) * 10.0 ** random.integers(-6, 4, (4, 1))).astype(numpy.float32)
values[1, 32:64] = 0
values[2, :32] = numpy.linspace(-127, 127, 32) / 2
writer.add_tensor("made.values", values)
raw = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0)
writer.add_tensor("made.Q8_0", raw, raw_shape=raw.shape, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
writer.add_array("a.texts", ["ă", "", "b c"])
writer.add_array("a.numbers", [-1, 2, 300])
writer.add_bool("a.flag", True)
writer.add_uint64("a.large", 2**40)
writer.add_float32("a.third", 1 / 3)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
