/**
 * Quantised checkpoints: four published layouts, read into the buffers of our dtypes without changing any
 * code or scale.
 */
import {
  FP8_TILE,
  MINIFLOATS,
  NF4_BLOCK,
  NF4_GROUP,
  NF4_TABLE,
  NVFP4_BLOCK,
  byteLength,
  partsOf,
  type Dtype,
} from '@cairn-tune/ops'
import { z } from 'zod'
import type { Checkpoint, StoredWeight } from './checkpoint.ts'
import { InputError, UnsupportedError } from './errors.ts'
import { decodeFloats, type FloatDtype } from './float-values.ts'
import { mxfp4Names, readMxfp4 } from './mxfp4-experts.ts'
import { checkTensor } from './safetensors.ts'
import type { SafetensorsDtype, TensorEntry } from './safetensors-header.ts'

/** The supported layouts, by the dtype that each becomes. */
export const QUANTIZED_LAYOUTS = {
  fp8_tiles: 'fine-grained FP8: weight (E4M3) and weight_scale_inv',
  nvfp4: 'ModelOpt NVFP4: weight (U8), weight_scale (E4M3) and weight_scale_2',
  nf4:
    'bitsandbytes NF4 with double quantisation: weight (U8), weight.absmax, weight.nested_absmax and ' +
    'weight.quant_state.bitsandbytes__nf4',
  mxfp4: 'MXFP4 of gpt-oss: experts’ …_blocks (U8) and …_scales (U8)',
} as const satisfies Partial<Record<Dtype, string>>

export type QuantizedLayout = keyof typeof QUANTIZED_LAYOUTS

const BNB_STATE = 'quant_state.bitsandbytes__'

/** The layout of a stored weight, from the tensors beside it. Undefined for an unquantised weight. */
export function layoutOf(checkpoint: Checkpoint, name: string): QuantizedLayout | undefined {
  const has = (suffix: string) => checkpoint.tensors.has(name + suffix)
  if (has('_scale_inv')) return 'fp8_tiles'
  if (has('_scale_2')) return 'nvfp4'
  if (checkpoint.tensors.has(mxfp4Names(name).blocks)) return 'mxfp4'
  if (has('.absmax') || has('.quant_map')) return 'nf4'
  const entry = checkpoint.tensors.get(name)
  if (entry && (entry.dtype.startsWith('F8') || entry.dtype === 'U8')) {
    throw new UnsupportedError(
      `${checkpoint.pathOf(name)}: ${JSON.stringify(name)} is ${entry.dtype} without known scales; ` +
        `supported layouts: ${Object.values(QUANTIZED_LAYOUTS).join('; ')}`,
    )
  }
  return undefined
}

/**
 * Reads a weight in its storage: quantised, bf16, or f32 (also for F16, whose numbers fit in no smaller
 * dtype).
 */
export async function readWeight(checkpoint: Checkpoint, name: string): Promise<StoredWeight> {
  const layout = layoutOf(checkpoint, name)
  if (layout) return readQuantized(checkpoint, name, layout)
  const entry = entryOf(checkpoint, name, ['BF16', 'F32', 'F16'])
  const bytes = await checkpoint.read(name)
  if (entry.dtype === 'BF16') return { dtype: 'bf16', shape: entry.shape, buffer: bytes }
  return {
    dtype: 'f32',
    shape: entry.shape,
    buffer: entry.dtype === 'F32' ? bytes : bytesOf(decodeFloats('F16', bytes)),
  }
}

/** Reads a quantised weight. Codes and scales are those of the file, bit for bit. */
const readQuantized = (
  checkpoint: Checkpoint,
  name: string,
  layout: QuantizedLayout,
): Promise<StoredWeight> => readers[layout](checkpoint, name)

const readers: Record<QuantizedLayout, (checkpoint: Checkpoint, name: string) => Promise<StoredWeight>> = {
  fp8_tiles: readFp8,
  nvfp4: readNvfp4,
  nf4: readNf4,
  mxfp4: readMxfp4,
}

const bytesOf = (values: Float32Array) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

function entryOf(
  checkpoint: Checkpoint,
  name: string,
  dtypes: readonly SafetensorsDtype[],
  shape?: readonly number[],
): TensorEntry {
  const path = checkpoint.pathOf(name)
  const entry = checkpoint.tensors.get(name)
  if (!entry) throw new InputError(`${path}: has no tensor ${JSON.stringify(name)}`)
  checkTensor(path, entry, dtypes, shape)
  return entry
}

async function readScales(
  checkpoint: Checkpoint,
  name: string,
  dtypes: readonly FloatDtype[],
  shape?: readonly number[],
): Promise<Float32Array> {
  const { dtype } = entryOf(checkpoint, name, dtypes, shape)
  return decodeFloats(dtype as FloatDtype, await checkpoint.read(name))
}

/** Places parts in the dtype's layout. Each must have exactly the dtype's length. */
function assemble(dtype: Dtype, shape: number[], found: Record<string, Uint8Array>): StoredWeight {
  const buffer = new Uint8Array(byteLength(dtype, shape))
  for (const { name, offset, bytes } of partsOf(dtype, shape)) {
    const part = found[name]
    if (part?.byteLength !== bytes)
      throw new Error(`[${dtype}] part ${name} takes ${bytes} bytes, got ${part?.byteLength}`)
    buffer.set(part, offset)
  }
  return { dtype, shape, buffer }
}

function matrix(checkpoint: Checkpoint, name: string, dtype: SafetensorsDtype): readonly [number, number] {
  const { shape } = entryOf(checkpoint, name, [dtype])
  const [rows, columns] = shape
  if (shape.length !== 2 || rows === undefined || columns === undefined) {
    throw new InputError(
      `${checkpoint.pathOf(name)}: tensor ${JSON.stringify(name)} must have two dimensions, got ` +
        `(${shape.join(', ')})`,
    )
  }
  return [rows, columns]
}

function refuseUnlessBlocks(checkpoint: Checkpoint, name: string, columns: number, block: number): void {
  if (columns % block !== 0)
    throw new UnsupportedError(
      `${checkpoint.pathOf(name)}: ${JSON.stringify(name)} has ${columns} columns, which are not a ` +
        `multiple of the block of ${block}`,
    )
}

async function readFp8(checkpoint: Checkpoint, name: string): Promise<StoredWeight> {
  const [rows, columns] = matrix(checkpoint, name, 'F8_E4M3')
  const tiles = [Math.ceil(rows / FP8_TILE), Math.ceil(columns / FP8_TILE)]
  const scales = await readScales(checkpoint, `${name}_scale_inv`, ['F32', 'BF16'], tiles)
  return assemble('fp8_tiles', [rows, columns], {
    codes: await checkpoint.read(name),
    scales: bytesOf(scales),
  })
}

/** Ignores `input_scale`: the recipe determines how activations are scaled. */
async function readNvfp4(checkpoint: Checkpoint, name: string): Promise<StoredWeight> {
  const [rows, packed] = matrix(checkpoint, name, 'U8')
  const columns = packed * 2
  refuseUnlessBlocks(checkpoint, name, columns, NVFP4_BLOCK)
  entryOf(checkpoint, `${name}_scale`, ['F8_E4M3'], [rows, columns / NVFP4_BLOCK])
  const scales = await checkpoint.read(`${name}_scale`)
  // A block scale is never negative, and tensor cores would ignore its sign bit.
  if (scales.some(code => (code & MINIFLOATS.e4m3.signBit) !== 0))
    throw new InputError(
      `${checkpoint.pathOf(name)}: ${JSON.stringify(`${name}_scale`)} has a negative scale`,
    )
  const tensorScale = await readScales(checkpoint, `${name}_scale_2`, ['F32'])
  if (tensorScale.length !== 1)
    throw new InputError(
      `${checkpoint.pathOf(name)}: ${JSON.stringify(`${name}_scale_2`)} must be one number, got ` +
        `${tensorScale.length}`,
    )
  return assemble('nvfp4', [rows, columns], {
    codes: await checkpoint.read(name),
    scales,
    tensor_scale: bytesOf(tensorScale),
  })
}

const bnbState = z.looseObject({
  quant_type: z.literal('nf4'),
  blocksize: z.literal(NF4_BLOCK),
  shape: z.tuple([z.int().positive(), z.int().positive()]),
  nested_blocksize: z.literal(NF4_GROUP),
  nested_offset: z.number(),
})

async function readNf4(checkpoint: Checkpoint, name: string): Promise<StoredWeight> {
  const { shape, nested_offset } = await readBnbState(checkpoint, name)
  const [rows, columns] = shape
  refuseUnlessBlocks(checkpoint, name, columns, NF4_BLOCK)
  const blocks = (rows * columns) / NF4_BLOCK
  entryOf(checkpoint, name, ['U8'], [(rows * columns) / 2, 1])
  entryOf(checkpoint, `${name}.absmax`, ['U8'], [blocks])
  const table = await readScales(checkpoint, `${name}.quant_map`, ['F32'], [NF4_TABLE.length])
  if (table.some((value, i) => value !== NF4_TABLE[i]))
    throw new UnsupportedError(
      `${checkpoint.pathOf(name)}: ${JSON.stringify(`${name}.quant_map`)} is not the NF4 table`,
    )
  return assemble('nf4', shape, {
    codes: await checkpoint.read(name),
    scale_codes: await checkpoint.read(`${name}.absmax`),
    group_scales: bytesOf(
      await readScales(checkpoint, `${name}.nested_absmax`, ['F32'], [Math.ceil(blocks / NF4_GROUP)]),
    ),
    offset: bytesOf(Float32Array.of(nested_offset)),
    scale_map: bytesOf(await readScales(checkpoint, `${name}.nested_quant_map`, ['F32'], [256])),
  })
}

async function readBnbState(checkpoint: Checkpoint, name: string): Promise<z.infer<typeof bnbState>> {
  const key = [...checkpoint.tensors.keys()].find(key => key.startsWith(`${name}.${BNB_STATE}`))
  const where = `${checkpoint.pathOf(name)}: ${JSON.stringify(name)}`
  if (!key) throw new InputError(`${where} has an absmax but no ${BNB_STATE}…; the file is incomplete`)
  const wanted =
    `supported is NF4 with blocks of ${NF4_BLOCK} and double quantisation in groups of ${NF4_GROUP} ` +
    '(bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)'
  let state: unknown
  try {
    state = JSON.parse(new TextDecoder().decode(await checkpoint.read(key)))
  } catch (error) {
    throw new InputError(`${where}: ${key} is not JSON`, { cause: error })
  }
  const parsed = bnbState.safeParse(state)
  if (parsed.success) return parsed.data
  throw new UnsupportedError(`${where}: quantised as ${JSON.stringify(state)}; ${wanted}`)
}
