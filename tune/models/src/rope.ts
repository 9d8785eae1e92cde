/** Rotary position tables. */
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { ModelConfig, Rope, RopeScaling } from './model-config.ts'

/** Rotation of each pair per position: theta^(−2i/width), modified by the rope's scaling. */
function frequenciesOf({ theta, width, scaling }: Rope, positions: number): Float64Array {
  const plain = Float64Array.from({ length: width / 2 }, (_, i) => theta ** ((-2 * i) / width))
  switch (scaling?.type) {
    case undefined:
      return plain
    case 'linear':
      return plain.map(frequency => frequency / scaling.factor)
    case 'llama3':
      return plain.map(frequency => {
        const turns = (scaling.original * frequency) / (2 * Math.PI)
        if (turns < scaling.low) return frequency / scaling.factor
        if (turns > scaling.high) return frequency
        const share = (turns - scaling.low) / (scaling.high - scaling.low)
        return ((1 - share) * frequency) / scaling.factor + share * frequency
      })
    case 'yarn':
      return plain.map((frequency, i) => {
        const share = yarnRamp(theta, width, scaling, i)
        return (frequency / scaling.factor) * share + frequency * (1 - share)
      })
    case 'longrope': {
      // Chosen for a whole run, so that the numbers of a document do not depend on the documents beside it.
      const factors = positions > scaling.original ? scaling.long : scaling.short
      return plain.map((frequency, i) => frequency / (factors[i] ?? 1))
    }
  }
}

/** Interpolation of frequency i: 0 leaves it unchanged, 1 divides it by the whole factor. */
function yarnRamp(
  theta: number,
  width: number,
  { fast, slow, original, truncates }: Extract<RopeScaling, { type: 'yarn' }>,
  i: number,
): number {
  /** The pair that makes this many turns over the original length. */
  const pairOf = (turns: number) =>
    (width * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const [first, last] = [pairOf(fast), pairOf(slow)]
  const low = Math.max(truncates ? Math.floor(first) : first, 0)
  const high = Math.min(truncates ? Math.ceil(last) : last, width - 1)
  return Math.min(1, Math.max(0, (i - low) / (high === low ? 0.001 : high - low)))
}

/** For each position half a width of cosines, then as many sines. */
export function ropeTable(positions: number, rope: Rope): Float32Array {
  const { width, attention_factor: factor } = rope
  const half = width / 2
  const frequencies = frequenciesOf(rope, positions)
  return Float32Array.from({ length: positions * width }, (_, i) => {
    const angle = Math.floor(i / width) * (frequencies[i % half] ?? 0)
    return factor * (i % width < half ? Math.cos(angle) : Math.sin(angle))
  })
}

/** Name of the input for the table of a rope, by its index in the model. */
const tableName = (i: number) => (i === 0 ? 'cosSin' : `cosSin.${i}`)

/** Inputs of a program for the tables of a model's ropes. */
export const ropeInputs = (g: Recorder, { ropes }: Pick<ModelConfig, 'ropes'>, positions: number): Tensor[] =>
  ropes.map(({ width }, i) => g.input(tableName(i), 'f32', [positions, width]))

/** The tables by the names of those inputs. */
export const ropeTables = (
  { ropes }: Pick<ModelConfig, 'ropes'>,
  positions: number,
): Record<string, Float32Array> =>
  Object.fromEntries(ropes.map((rope, i) => [tableName(i), ropeTable(positions, rope)]))

/** Positions of packed documents: each counts from its own start. */
export function packedPositions(cuSeqlens: ArrayLike<number>): Int32Array {
  const bounds = Array.from(cuSeqlens)
  return Int32Array.from(
    bounds
      .slice(1)
      .flatMap((end, i) => Array.from({ length: end - (bounds[i] ?? 0) }, (_, position) => position)),
  )
}
