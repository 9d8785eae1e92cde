/**
 * Writes a model as a GGUF file for llama.cpp and programs built on it. The architecture's row determines
 * names and rows. Tokenizer and chat template are included.
 */
import { basename } from 'node:path'
import { dequantize, type Shape } from '@cairn-tune/ops'
import { openMappedCheckpoint } from '../base-weights.ts'
import type { Checkpoint } from '../checkpoint.ts'
import { InputError, UnsupportedError } from '../errors.ts'
import { matricesOf, storedName } from '../experts.ts'
import { decodeFloats } from '../float-values.ts'
import { readModelText } from '../model-texts.ts'
import { mxfp4Names } from '../mxfp4-experts.ts'
import { layoutOf, readWeight } from '../quantized.ts'
import { readTokenizerTexts } from '../tokenizer.ts'
import {
  ARCHITECTURE_NAMES,
  findArchitecture,
  storesPlusOne,
  isAlwaysF32,
  permuteRows,
  weightNames,
  type WeightName,
} from './architectures.ts'
import { configMetadata, llama3RopeOf } from './config-metadata.ts'
import type { ConfigToWrite } from './config-to-write.ts'
import { blocksOf, everySecondRow } from './mxfp4-stacks.ts'
import { ROPE_DIVISORS, ropeDivisors } from './rope-scaling.ts'
import { GGUF_TYPES, encodeGguf, type EncodedType, type WrittenType } from './tensor-types.ts'
import { vocabularyMetadata, vocabularyOf } from './tokenizer-vocabulary.ts'
import { text, u32, writeGguf, type GgufTensorToWrite } from './writer.ts'

/** Storage of matrices. Vectors are f32 in every file. */
export const GGUF_EXPORT_TYPES = ['as-stored', 'f32', 'bf16', 'f16', 'q8_0'] as const
export type GgufExportType = (typeof GGUF_EXPORT_TYPES)[number]

export type ModelToExport = {
  /** Directory of the model, or its GGUF file. */
  model: string
  config: ConfigToWrite & { eos_token_ids: readonly number[] }
  /** general.architecture of the model's family. */
  architecture: string
  /** Every weight, by its Hugging Face name. */
  weights: readonly { name: string; shape: Shape }[]
}

/** `notes` has one line for each kind of tensor written in another type than requested. */
export type ExportSummary = { tensors: number; notes: string[] }

/** The tensors of a file that hold a weight's numbers: one, or two with every other row. */
type Names = ReadonlyMap<string, readonly WeightName[]>

/** The architecture that a model is written as, and the names of its weights there. */
export function namesOf({
  architecture,
  config,
  model,
}: Pick<ModelToExport, 'architecture' | 'config' | 'model'>) {
  const row = findArchitecture(architecture, config.experts !== undefined)
  if (!row)
    throw new UnsupportedError(
      `${model}: export of ${config.model_type} models to GGUF is not supported; supported: ` +
        `${ARCHITECTURE_NAMES.join(', ')}`,
    )
  const seen = config.layers.find(({ window }) => window > 0)?.window
  if (seen !== undefined && !row.own?.placesTokens && seen < config.max_position_embeddings)
    throw new UnsupportedError(
      `${model}: has layers with an attention window of ${seen} tokens; ` +
        `in a GGUF file of ${architecture} every layer attends to all tokens`,
    )
  const names: Names = Map.groupBy(weightNames(row, config.num_hidden_layers), ({ name }) => name)
  return { row, names }
}

/** Heads of a weight whose rows are permuted. */
export const headsOf = (config: ConfigToWrite, { permuted }: WeightName) =>
  permuted && (permuted === 'queries' ? config.num_attention_heads : config.num_key_value_heads)

/** Writes a model. Weights are read, permuted and written one at a time. */
export async function exportGgufModel(
  given: ModelToExport,
  output: string,
  type: GgufExportType,
): Promise<ExportSummary> {
  const { model, config, weights } = given
  const { row, names } = namesOf(given)
  const json = JSON.parse((await readModelText(model, 'config.json')) ?? '{}') as Record<string, unknown>
  const rope = row.own?.placesTokens ? undefined : llama3RopeOf(model, json)
  const tokenizer = await readTokenizerTexts(model)
  const vocabulary = vocabularyOf(tokenizer, config.vocab_size, await endsOf(model, config.eos_token_ids))
  const checkpoint = await openMappedCheckpoint(model)
  try {
    const noted = new Map<string, number>()
    const tensors = weights.flatMap(({ name, shape }): GgufTensorToWrite[] => {
      const found = names.get(name)
      if (!found)
        throw new UnsupportedError(`${model}: ${JSON.stringify(name)} has no GGUF name in ${row.name}`)
      const kind =
        shape.length === 1 || isAlwaysF32(name) ? 'F32' : writtenType(checkpoint, name, shape, type, noted)
      return found.map(one => {
        const heads = headsOf(config, one)
        return {
          name: one.gguf,
          type: kind,
          shape: one.rows ? halved(shape) : shape,
          bytes: async () => {
            if (storesPlusOne(row, name))
              return encodeGguf(
                'F32',
                (await valuesOf(checkpoint, name)).map(weight => weight + 1),
              )
            const bytes = await bytesOf(checkpoint, { name, shape }, kind)
            if (one.rows) return everySecondRow(bytes, rowsOf(shape), one.rows)
            return heads === undefined ? bytes : permuteRows(bytes, shape[0] ?? 0, heads, false)
          },
        }
      })
    })
    if (rope)
      tensors.push({
        name: ROPE_DIVISORS,
        type: 'F32',
        shape: [config.head_dim / 2],
        bytes: encodeGguf('F32', ropeDivisors(rope, config.head_dim, config.ropes[0]?.theta ?? 0)),
      })
    const metadata = {
      ...configMetadata(row, config),
      'general.type': text('model'),
      'general.name': text(basename(model, '.gguf')),
      'general.file_type': u32(fileType(tensors)),
      'general.quantization_version': u32(2),
      ...vocabularyMetadata(tokenizer.path, vocabulary),
    }
    await writeGguf(output, { metadata, tensors })
    return {
      tensors: tensors.length,
      notes: [...noted].map(([why, count]) => `${count} ${count === 1 ? 'matrix' : 'matrices'} ${why}`),
    }
  } finally {
    await checkpoint.close()
  }
}

/** Rows of all experts together. A bias has one number for each. */
const rowsOf = (shape: Shape) => (shape[0] ?? 0) * (shape[1] ?? 0)
const halved = ([experts = 0, rows = 0, ...rest]: Shape) => [experts, rows / 2, ...rest]

/** End tokens of config.json, then those that only generation_config.json has. */
async function endsOf(model: string, ends: readonly number[]): Promise<number[]> {
  const generation = JSON.parse((await readModelText(model, 'generation_config.json')) ?? '{}') as {
    eos_token_id?: number | number[] | null
  }
  return [...ends, ...[generation.eos_token_id ?? []].flat()]
}

/** The type in which a matrix is written. `noted` counts matrices that get another type than requested. */
function writtenType(
  checkpoint: Checkpoint,
  name: string,
  shape: Shape,
  type: GgufExportType,
  noted: Map<string, number>,
): WrittenType {
  const note = (why: string) => void noted.set(why, (noted.get(why) ?? 0) + 1)
  switch (type) {
    case 'f32':
      return 'F32'
    case 'bf16':
      return 'BF16'
    case 'f16':
      return 'F16'
    case 'q8_0': {
      if ((shape.at(-1) ?? 0) % GGUF_TYPES.Q8_0.block === 0) return 'Q8_0'
      note(
        `whose rows of ${shape.at(-1)} elements are not a multiple of Q8_0's block of 32 are written as BF16`,
      )
      return 'BF16'
    }
    case 'as-stored': {
      const entry = checkpoint.tensors.get(storedName(checkpoint, name))
      const layout = layoutOf(checkpoint, storedName(checkpoint, name)) ?? entry?.decodedFrom
      if (layout === 'mxfp4') return 'MXFP4'
      if (layout !== undefined) {
        note(`stored as ${layout} are decoded and written as BF16, because export does not write that type`)
        return 'BF16'
      }
      const dtype = entry?.dtype
      return dtype === 'F32' || dtype === 'F16' ? dtype : 'BF16'
    }
  }
}

/** A weight in a file type. For experts one matrix after the other. */
async function bytesOf(
  checkpoint: Checkpoint,
  weight: { name: string; shape: Shape },
  type: WrittenType,
): Promise<Uint8Array> {
  if (type === 'MXFP4') {
    const { blocks, scales } = mxfp4Names(weight.name)
    return blocksOf(await checkpoint.read(blocks), await checkpoint.read(scales))
  }
  const parts: Uint8Array[] = []
  const isWhole = storedName(checkpoint, weight.name) === weight.name
  for (const { name } of isWhole ? [weight] : matricesOf(weight))
    parts.push(encode(checkpoint, name, type, await valuesOf(checkpoint, name)))
  const [only] = parts
  return only && parts.length === 1 ? only : Buffer.concat(parts)
}

/** A weight's numbers, from any storage. */
async function valuesOf(checkpoint: Checkpoint, name: string): Promise<Float32Array> {
  const { dtype, shape, buffer } = await readWeight(checkpoint, name)
  if (dtype === 'bf16') return decodeFloats('BF16', buffer)
  return dtype === 'f32' ? decodeFloats('F32', buffer) : dequantize(buffer, dtype, shape)
}

const LARGEST_F16 = 65504

function encode(checkpoint: Checkpoint, name: string, type: EncodedType, values: Float32Array): Uint8Array {
  if ((type === 'F16' || type === 'Q8_0') && values.some(value => Math.abs(value) > LARGEST_F16))
    throw new InputError(
      `${checkpoint.directory}: tensor ${JSON.stringify(name)} has numbers beyond ` +
        `${LARGEST_F16}, the largest of ${type === 'F16' ? 'f16' : "Q8_0's scales"}; use bf16`,
    )
  return encodeGguf(type, values)
}

/** llama.cpp's file types, by the type of most matrices. */
export const FILE_TYPES = { F32: 0, F16: 1, Q8_0: 7, BF16: 32, MXFP4: 38 } as const

function fileType(tensors: readonly GgufTensorToWrite[]): number {
  const sizes = new Map<WrittenType, number>()
  for (const { type, shape } of tensors) {
    const written = type as WrittenType
    sizes.set(written, (sizes.get(written) ?? 0) + shape.reduce((product, size) => product * size, 1))
  }
  const [largest] = [...sizes].toSorted(([, a], [, b]) => b - a)
  return FILE_TYPES[largest?.[0] ?? 'F32']
}
