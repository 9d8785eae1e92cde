/**
 * GGUF's number formats: blocks along a row, each with its own scales. The types in common use are decoded
 * here. Others are known by name, for the error message.
 */
import { decodeFloats, encodeFloats } from '../float-values.ts'
import { decodeQ4K, decodeQ5K, decodeQ6K } from './k-blocks.ts'
import {
  decodeMxfp4,
  decodeQ4_0,
  decodeQ4_1,
  decodeQ5_0,
  decodeQ5_1,
  decodeQ8_0,
  encodeQ8_0,
} from './small-blocks.ts'

/** Writes the numbers of the block that starts at byte `at` to `y` from element `to` on. */
export type DecodeBlock = (bytes: Uint8Array, at: number, y: Float32Array, to: number) => void

type Type = { id: number; block: number; bytes: number; decode: (stored: Uint8Array) => Float32Array }

const blocks = (id: number, block: number, bytes: number, decodeBlock: DecodeBlock): Type => ({
  id,
  block,
  bytes,
  decode(stored) {
    const count = stored.byteLength / bytes
    const y = new Float32Array(count * block)
    for (let i = 0; i < count; i++) decodeBlock(stored, i * bytes, y, i * block)
    return y
  },
})

/** By name; `block` elements take `bytes` bytes. */
export const GGUF_TYPES = {
  F32: { id: 0, block: 1, bytes: 4, decode: stored => decodeFloats('F32', stored) },
  F16: { id: 1, block: 1, bytes: 2, decode: stored => decodeFloats('F16', stored) },
  BF16: { id: 30, block: 1, bytes: 2, decode: stored => decodeFloats('BF16', stored) },
  Q8_0: blocks(8, 32, 34, decodeQ8_0),
  Q4_0: blocks(2, 32, 18, decodeQ4_0),
  Q4_1: blocks(3, 32, 20, decodeQ4_1),
  Q5_0: blocks(6, 32, 22, decodeQ5_0),
  Q5_1: blocks(7, 32, 24, decodeQ5_1),
  Q4_K: blocks(12, 256, 144, decodeQ4K),
  Q5_K: blocks(13, 256, 176, decodeQ5K),
  Q6_K: blocks(14, 256, 210, decodeQ6K),
  MXFP4: blocks(39, 32, 17, decodeMxfp4),
} as const satisfies Record<string, Type>

export type GgufType = keyof typeof GGUF_TYPES
export const GGUF_TYPE_NAMES = Object.keys(GGUF_TYPES) as GgufType[]

const byId = new Map<number, GgufType>(GGUF_TYPE_NAMES.map(name => [GGUF_TYPES[name].id, name]))

/** Names of unsupported types, for messages. */
const OTHERS: Record<number, string> = {
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  40: 'NVFP4',
  41: 'Q1_0',
}

/** The type of an id, or the name of an unsupported type. */
export function typeOfId(id: number): { type: GgufType } | { unread: string } {
  const type = byId.get(id)
  return type ? { type } : { unread: OTHERS[id] ?? `number ${id}, which is unknown` }
}

/** Bytes of `elements` elements, a whole number of blocks. */
export const storedBytes = (type: GgufType, elements: number): number =>
  (elements / GGUF_TYPES[type].block) * GGUF_TYPES[type].bytes

/** The numbers of stored rows. */
export const decodeGguf = (type: GgufType, stored: Uint8Array): Float32Array =>
  GGUF_TYPES[type].decode(stored)

/** Types in which numbers are written. MXFP4 is only copied. */
export type EncodedType = 'F32' | 'F16' | 'BF16' | 'Q8_0'
export type WrittenType = EncodedType | 'MXFP4'

/** Encodes numbers as rows of a type. For Q8_0 a whole number of blocks. */
export const encodeGguf = (type: EncodedType, values: Float32Array): Uint8Array =>
  type === 'Q8_0' ? encodeQ8_0(values) : encodeFloats(type, values)
