"""
Reads GGUF files with the gguf package and holds its numbers against those that write_values.ts wrote: python
interop_values.py FILE.gguf VALUES.safetensors …
(needs gguf, numpy, safetensors; run with gguf 0.19.0).
"""

import sys
from collections import Counter

import gguf
import numpy
from safetensors.numpy import load_file

for path, own in zip(sys.argv[1::2], sys.argv[2::2]):
    reader, values = gguf.GGUFReader(path), load_file(own)
    assert {tensor.name for tensor in reader.tensors} == set(values), path
    alike, kinds = 0, Counter()
    for tensor in reader.tensors:
        expected = numpy.asarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type), dtype=numpy.float32)
        found = values[tensor.name]
        assert expected.shape == found.shape, (tensor.name, expected.shape, found.shape)
        alike += numpy.array_equal(expected.view(numpy.uint32), found.view(numpy.uint32))
        kinds[tensor.tensor_type.name] += 1
    print(
        f"{path.rsplit('/', 1)[-1]}: {alike} of {len(values)} tensors alike in every bit; "
        f"{dict(kinds)}; {len(reader.fields)} keys, {reader.fields['general.type'].contents()} of "
        f"{reader.fields['general.architecture'].contents()}"
    )
