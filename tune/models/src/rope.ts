/** Rotary position tables. */
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { ModelConfig, Rope } from './model-config.ts'

/** For each position half a width of cosines, then as many sines, of position · theta^(−2i/width). */
export function ropeTable(positions: number, { theta, width }: Rope): Float32Array {
  const half = width / 2
  return Float32Array.from({ length: positions * width }, (_, i) => {
    const angle = Math.floor(i / width) * theta ** (-(i % half) / half)
    return i % width < half ? Math.cos(angle) : Math.sin(angle)
  })
}

/** Name of the input that has the table of a rope, by its place among the model's. */
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
