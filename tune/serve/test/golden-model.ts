/** Golden models of the families (tune/models/test/golden) as directories that a server or a run reads. */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseModelConfig, partsOf } from '@cairn-tune/models'
import { byteLength, quantize, type Shape } from '@cairn-tune/ops'
import { byteTokenizerFiles } from '@cairn-tune/train/byte-tokenizer'
import {
  decodeFloats,
  encodeFloats,
  matricesOf,
  mxfp4Tensors,
  openSafetensors,
  writeCheckpoint,
  type Safetensors,
  type TensorToWrite,
} from '@cairn-tune/weights'

type Golden = { config: Record<string, unknown>; greedy: { prompts: number[][]; answers: number[][] } }
const families = new URL('../../models/test/golden/families/', import.meta.url)
export const readGolden = (name: string) =>
  JSON.parse(readFileSync(new URL(`${name}.json`, families), 'utf8')) as Golden

/** A family's golden model as a directory, in f32, so that an adapter is merged into it without rounding. */
export async function writeGoldenModel(name: string, model: string): Promise<void> {
  const { config } = readGolden(name)
  const file = await openSafetensors(fileURLToPath(new URL(`${name}.safetensors`, families)))
  const weights = partsOf(parseModelConfig('config.json', config)).weights
  await mkdir(model)
  await writeCheckpoint(
    model,
    weights.flatMap(weight => {
      if (name === 'gpt_oss' && weight.shape.length === 3) return mxfp4Of(weight, file)
      const matrices = matricesOf(weight)
      return matrices.map(({ name: matrix, shape }, e) => ({
        name: matrix,
        dtype: 'F32' as const,
        shape,
        bytes: async () => {
          const values = decodeFloats('BF16', await file.read(weight.name))
          const size = values.length / matrices.length
          return encodeFloats('F32', values.subarray(e * size, (e + 1) * size))
        },
      }))
    }),
  )
  await file.close()
  const stored = name === 'gpt_oss' ? { quantization_config: { quant_method: 'mxfp4' } } : {}
  const files = { ...byteTokenizerFiles(), 'config.json': JSON.stringify({ ...config, ...stored }) }
  for (const [path, text] of Object.entries(files)) await writeFile(join(model, path), text)
}

/** Experts of gpt-oss as they are distributed; the golden numbers are those that MXFP4 holds. */
function mxfp4Of({ name, shape }: { name: string; shape: Shape }, file: Safetensors): TensorToWrite[] {
  const whole = async () => quantize(decodeFloats('BF16', await file.read(name)), 'mxfp4', shape)
  return mxfp4Tensors(name, shape, new Uint8Array(byteLength('mxfp4', shape))).map((tensor, i) => ({
    ...tensor,
    dtype: 'U8',
    bytes: async () => mxfp4Tensors(name, shape, await whole())[i]?.bytes ?? new Uint8Array(),
  }))
}
