/**
 * The published format of gpt-oss's experts: codes and scales of all experts in two tensors,
 * `gate_up_proj_blocks` (E, N, K/32, 16) and `gate_up_proj_scales` (E, N, K/32). A program calls this
 * `gate_up_proj.weight` (E, N, K). Codes and scales are copied bit for bit.
 */
import { MXFP4_BLOCK, byteLength, matrixStride, partsOf } from '@cairn-tune/ops'
import type { Checkpoint, StoredWeight } from './checkpoint.ts'
import { InputError } from './errors.ts'
import { checkTensor } from './safetensors.ts'

/** Names of a weight's two tensors. */
export const mxfp4Names = (name: string): { blocks: string; scales: string } => {
  const stem = name.replace(/\.weight$/, '')
  return { blocks: `${stem}_blocks`, scales: `${stem}_scales` }
}

/** Reads all experts of a projection. */
export async function readMxfp4(checkpoint: Checkpoint, name: string): Promise<StoredWeight> {
  const { blocks, scales } = mxfp4Names(name)
  const entryOf = (tensor: string, dims: number) => {
    const path = checkpoint.pathOf(tensor)
    const entry = checkpoint.tensors.get(tensor)
    if (!entry) throw new InputError(`${path}: has no tensor ${JSON.stringify(tensor)}`)
    checkTensor(path, entry, ['U8'])
    if (entry.shape.length !== dims)
      throw new InputError(
        `${path}: tensor ${JSON.stringify(tensor)} must have ${dims} dimensions, got ` +
          `(${entry.shape.join(', ')})`,
      )
    return entry.shape
  }
  const [experts = 0, rows = 0, count = 0, width = 0] = entryOf(blocks, 4)
  const found = entryOf(scales, 3)
  if (width !== MXFP4_BLOCK / 2 || [experts, rows, count].some((size, i) => size !== found[i]))
    throw new InputError(
      `${checkpoint.pathOf(blocks)}: ${JSON.stringify(blocks)} must be (E, N, B, ${MXFP4_BLOCK / 2}) with ` +
        `scales of (E, N, B), got (${[experts, rows, count, width].join(', ')}) and (${found.join(', ')})`,
    )
  const shape = [experts, rows, count * MXFP4_BLOCK]
  const buffer = new Uint8Array(byteLength('mxfp4', shape))
  const stride = matrixStride('mxfp4', shape)
  const parts = [await checkpoint.read(blocks), await checkpoint.read(scales)]
  for (const [i, { offset, bytes }] of partsOf('mxfp4', shape.slice(1)).entries())
    for (let e = 0; e < experts; e++)
      buffer.set(parts[i]?.subarray(e * bytes, (e + 1) * bytes) ?? [], e * stride + offset)
  return { dtype: 'mxfp4', shape, buffer }
}

/** The two tensors of a weight of experts, from a program's buffer. */
export function mxfp4Tensors(
  name: string,
  [experts = 0, rows = 0, columns = 0]: readonly number[],
  buffer: Uint8Array,
): { name: string; shape: number[]; bytes: Uint8Array }[] {
  const matrix = [rows, columns]
  const stride = matrixStride('mxfp4', [experts, ...matrix])
  const names = mxfp4Names(name)
  return partsOf('mxfp4', matrix).map(({ offset, bytes }, i) => {
    const all = new Uint8Array(experts * bytes)
    for (let e = 0; e < experts; e++)
      all.set(buffer.subarray(e * stride + offset, e * stride + offset + bytes), e * bytes)
    const shape = [experts, rows, columns / MXFP4_BLOCK]
    return {
      name: i === 0 ? names.blocks : names.scales,
      shape: i === 0 ? [...shape, MXFP4_BLOCK / 2] : shape,
      bytes: all,
    }
  })
}
