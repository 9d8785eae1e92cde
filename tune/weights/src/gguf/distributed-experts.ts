/**
 * The experts of gpt-oss in a GGUF file, converted to the published format: gates and ups are alternating
 * rows of one weight, and MXFP4 is two tensors, codes and scales.
 */
import { MXFP4_BLOCK } from '@cairn-tune/ops'
import { InputError, UnsupportedError } from '../errors.ts'
import { mxfp4Names } from '../mxfp4-experts.ts'
import type { TensorEntry } from '../safetensors-header.ts'
import type { GgufFile, GgufTensor } from './gguf-file.ts'
import { alternate, codesOf, scalesOf } from './mxfp4-stacks.ts'

/** The tensors of a weight of all experts: one, or one for its even rows and one for its odd rows. */
export type Stack = { all?: GgufTensor; even?: GgufTensor; odd?: GgufTensor }

export const isExpertWeight = (name: string): boolean => name.includes('.mlp.experts.')

/** Its entries in a checkpoint: a bias, or codes and scales. */
export function distributed(file: GgufFile, name: string, { all, even, odd }: Stack) {
  const first = all ?? even
  const second = all ? undefined : odd
  if (!first || (!all && !second))
    throw new InputError(
      `${file.path}: has ${JSON.stringify((even ?? odd)?.name)} but not the tensor with the other ` +
        `rows of ${JSON.stringify(name)}`,
    )
  const wanted = name.endsWith('_bias') ? 'F32' : 'MXFP4'
  for (const { name: found, type, shape } of [first, second ?? first]) {
    if (type !== wanted)
      throw new UnsupportedError(
        `${file.path}: tensor ${JSON.stringify(found)} is ${type}; ` +
          `in gpt-oss it must be ${wanted}, as the model is distributed`,
      )
    if (shape.join() !== first.shape.join())
      throw new InputError(
        `${file.path}: tensor ${JSON.stringify(found)} is (${shape.join(', ')}), but ` +
          `${JSON.stringify(first.name)} is (${first.shape.join(', ')})`,
      )
  }
  const [experts = 0, rows = 0, columns = 0] = first.shape
  const stored = async () => {
    const bytes = await file.read(first)
    return second ? alternate(bytes, await file.read(second), experts * rows) : bytes
  }
  const shape = [experts, second ? 2 * rows : rows]
  const entry = (whole: string, dtype: 'F32' | 'U8', sizes: number[]): TensorEntry => ({
    name: whole,
    dtype,
    shape: sizes,
    start: first.start,
    end: first.end,
  })
  if (wanted === 'F32') return [{ entry: entry(name, 'F32', shape), stored: first, read: stored }]
  const names = mxfp4Names(name)
  const scales = [...shape, columns / MXFP4_BLOCK]
  return [
    {
      entry: entry(names.blocks, 'U8', [...scales, MXFP4_BLOCK / 2]),
      stored: first,
      read: async () => codesOf(await stored()),
    },
    {
      entry: entry(names.scales, 'U8', scales),
      stored: second ?? first,
      read: async () => scalesOf(await stored()),
    },
  ]
}
