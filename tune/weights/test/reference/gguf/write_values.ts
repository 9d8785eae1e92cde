/**
 * Every tensor of a GGUF file as this package decodes it, for interop_values.py: node write_values.ts
 * FILE.gguf OUT.safetensors
 */
import { writeSafetensors } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'
import { decodeGguf, encodeGguf } from '@cairn-tune/weights/gguf/tensor-types'

const [from, to] = process.argv.slice(2)
if (!from || !to) throw new Error('usage: write_values.ts FILE.gguf OUT.safetensors')
const file = await openGguf(from)
await writeSafetensors(
  to,
  [...file.tensors.values()].map(tensor => ({
    name: tensor.name,
    dtype: 'F32',
    shape: tensor.shape,
    bytes: async () => encodeGguf('F32', decodeGguf(tensor.type, await file.read(tensor))),
  })),
)
