/**
 * Llama 3's scaled rotary positions: a tensor of divisors in GGUF, four numbers in config.json. A file's
 * divisors must equal those of the published numbers; others are rejected.
 */
import { UnsupportedError } from '../errors.ts'
import type { GgufFile } from './gguf-file.ts'
import { decodeGguf } from './tensor-types.ts'

export const ROPE_DIVISORS = 'rope_freqs.weight'

export type Llama3Rope = {
  rope_type: 'llama3'
  factor: number
  low_freq_factor: number
  high_freq_factor: number
  original_max_position_embeddings: number
}

/** Values of every published model of the family. The factor is 8 or 32. */
const PUBLISHED = { low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 }

/**
 * Each frequency is divided by its divisor: slow ones by the factor, fast ones by 1, those in between by a
 * blend.
 */
export function ropeDivisors(rope: Llama3Rope, width: number, theta: number): Float32Array {
  const { factor, low_freq_factor: low, high_freq_factor: high, original_max_position_embeddings: L } = rope
  return Float32Array.from({ length: width / 2 }, (_, i) => {
    const wavelength = 2 * Math.PI * theta ** ((2 * i) / width)
    if (wavelength < L / high) return 1
    if (wavelength > L / low) return factor
    const smooth = (L / wavelength - low) / (high - low)
    return 1 / ((1 - smooth) / factor + smooth)
  })
}

/** Converters compute in f32: powers and their quotients are off by at most this much. */
const TOLERANCE = 1e-4

/** rope_scaling of config.json. Undefined without scaling. */
export async function ropeScalingOf(
  file: GgufFile,
  width: number,
  theta: number,
): Promise<Llama3Rope | undefined> {
  const tensor = file.tensors.get(ROPE_DIVISORS)
  if (!tensor) return undefined
  const found = decodeGguf(tensor.type, await file.read(tensor))
  const rope: Llama3Rope = { rope_type: 'llama3', factor: Math.round(found.at(-1) ?? 0), ...PUBLISHED }
  const wanted = ropeDivisors(rope, width, theta)
  const isSame = (value: number, i: number) => Math.abs(value / (found[i] ?? 0) - 1) <= TOLERANCE
  if (rope.factor >= 1 && found.length === wanted.length && wanted.every(isSame)) return rope
  throw new UnsupportedError(
    `${file.path}: tensor ${JSON.stringify(ROPE_DIVISORS)} has an unsupported rope scaling; ` +
      'supported: that of Llama 3, with low_freq_factor 1, high_freq_factor 4 and 8192 original ' +
      'positions',
  )
}
