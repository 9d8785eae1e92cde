/**
 * Adapters in memory: each takes one slot of the stacks that programs read, so loading one touches no program
 * and no other adapter.
 */
import { setImmediate } from 'node:timers/promises'
import { encodeBf16, type Arithmetic } from '@cairn-tune/ops'
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import {
  decodeFloats,
  linearsOf,
  missingExperts,
  type StoredAdapter,
  type StoredTensor,
} from '@cairn-tune/weights'

/** A linear that adapters may change; with experts it has a matrix for each. */
export type Target = { name: string; inputs: number; outputs: number; experts?: number | undefined }

/** An adapter that is loaded. Ids are never used again, slots are. */
export type LoadedAdapter = {
  readonly id: number
  readonly name: string
  /** Where its matrices lie, while it has a place there. */
  slot: number | undefined
  readonly path: string
  readonly stored: StoredAdapter
  readonly rank: number
}

export type AdapterStacks = {
  readonly slots: number
  readonly maxRank: number
  /** Buffers of the stacks, by the names that programs bind. */
  readonly buffers: Readonly<Record<string, DeviceBuffer>>
  /**
   * Writes an adapter to a free slot, or gives undefined where there is none. Yields to other work between
   * matrices.
   */
  put(adapter: StoredAdapter): Promise<number | undefined>
  free(slot: number): void
}

/**
 * Names of a target's buffers: stacks of its matrices, rank and scale of each pair in them, and what DoRA
 * multiplies columns by. Those of experts have the slots of expert 0, then those of expert 1, and so on.
 */
export const stackName = (target: string, part: 'a' | 'b' | 'ranks' | 'factors') => `${target}.lora_${part}`

/** One matrix pair of a target: its name in an adapter, and which pair of its stacks belongs to slot 0. */
type Pair = { name: string; first: number }

const pairsOf = (target: Target, slots: number): Pair[] =>
  linearsOf(target).map((name, e) => ({ name, first: e * slots }))

/** Numbers that are written before others get a turn: about a millisecond's work. */
const NUMBERS_AT_ONCE = 250_000

type Codes = Uint16Array | Float32Array

const modulesOf = (targets: readonly Target[]) => [
  ...new Set(targets.map(({ name }) => name.split('.').at(-1))),
]

/** Why an adapter does not fit this base, or undefined where it does. */
export function misfitOf(
  adapter: StoredAdapter,
  targets: readonly Target[],
  maxRank: number,
): string | undefined {
  if (adapter.lora_rank > maxRank)
    return `LoRA rank ${adapter.lora_rank} is greater than max_lora_rank ${maxRank}.`
  const known = new Map(targets.flatMap(one => pairsOf(one, 1).map(({ name }) => [name, one] as const)))
  for (const { name, shape } of adapter.tensors) {
    const [, linear = '', side] = /^(.+)\.lora_([AB])\.weight$/.exec(name) ?? []
    const target = known.get(linear)
    if (!target)
      return (
        `${name} changes a linear that the base model does not have; adapters of ` +
        `${modulesOf(targets).join(', ')} are served.`
      )
    const rank = shape[side === 'A' ? 0 : 1]
    const wanted = side === 'A' ? [rank, target.inputs] : [target.outputs, rank]
    if (shape[0] !== wanted[0] || shape[1] !== wanted[1])
      return (
        `${name} is (${shape.join(', ')}) where the base model needs (${wanted.join(', ')}); it ` +
        'was trained on another base.'
      )
  }
  return missingExperts(
    adapter.tensors.map(({ name }) => name),
    targets,
  )
}

export type StackOptions = {
  slots: number
  maxRank: number
  dtype: Arithmetic
  /** What an adapter with DoRA multiplies the columns of a target by. */
  factorsOf: (target: Target, adapter: StoredAdapter) => Promise<Float32Array>
}

export function createAdapterStacks(
  engine: Engine,
  targets: readonly Target[],
  { slots, maxRank, dtype, factorsOf }: StackOptions,
): AdapterStacks {
  const bytes = dtype === 'bf16' ? 2 : 4
  const view = (buffer: Uint8Array): Codes =>
    dtype === 'bf16'
      ? new Uint16Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 2)
      : new Float32Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 4)
  const stacks = targets.map(target => {
    // Pages of slots and ranks that are never used are never touched, and take no memory.
    const count = slots * (target.experts ?? 1)
    return {
      target,
      a: engine.allocate(count * maxRank * target.inputs * bytes),
      b: engine.allocate(count * maxRank * target.outputs * bytes),
      ranks: engine.allocate(count * 2 * 4),
      factors: target.experts === undefined ? engine.allocate(slots * target.outputs * 4) : undefined,
    }
  })
  const free = Array.from({ length: slots }, (_, i) => slots - 1 - i)

  /** A matrix in the codes of the stacks; what the file has already is not touched. */
  function codesOf({ dtype: stored, bytes: file }: StoredTensor): Codes {
    if (stored === (dtype === 'bf16' ? 'BF16' : 'F32'))
      return view(file.byteOffset % bytes === 0 ? file : file.slice())
    const values = decodeFloats(stored, file)
    if (dtype === 'f32') return values
    const codes = new Uint16Array(values.length)
    for (let i = 0; i < codes.length; i++) codes[i] = encodeBf16(values[i] ?? 0)
    return codes
  }

  type Writing = {
    a: DeviceBuffer
    b: DeviceBuffer
    ranks: DeviceBuffer
    /** Which pair of the stacks. */
    index: number
    scale: number
    down: StoredTensor | undefined
    up: StoredTensor | undefined
  }

  /** Writes one pair of matrices with its rank and scale; how many numbers those were. */
  function writePair({ inputs, outputs }: Target, { a, b, ranks, index, scale, down, up }: Writing): number {
    const rank = down && up ? down.shape[0] : 0
    engine.write(ranks, Float32Array.of(rank, scale), index * 2 * 4)
    if (!down || !up) return 0
    const [atA, atB] = [index * maxRank * inputs * bytes, index * maxRank * outputs * bytes]
    engine.write(a, codesOf(down), atA)
    // B transposed: a row of the stack is what one number of the middle adds to all outputs.
    const codes = codesOf(up)
    engine.write(
      b,
      memory => {
        const transposed = view(memory)
        for (let n = 0; n < outputs; n++)
          for (let r = 0; r < rank; r++) transposed[r * outputs + n] = codes[n * rank + r] ?? 0
      },
      atB,
    )
    return rank * (inputs + outputs)
  }

  async function put(adapter: StoredAdapter): Promise<number | undefined> {
    const slot = free.pop()
    if (slot === undefined) return undefined
    const matrices = new Map(adapter.tensors.map(tensor => [tensor.name, tensor]))
    let written = 0
    for (const { target, a, b, ranks, factors } of stacks) {
      for (const { name, first } of pairsOf(target, slots)) {
        const [down, up] = [matrices.get(`${name}.lora_A.weight`), matrices.get(`${name}.lora_B.weight`)]
        const scale = adapter.scaleOf(name)
        written += writePair(target, { a, b, ranks, index: first + slot, scale, down, up })
        if (written < NUMBERS_AT_ONCE) continue
        written = 0
        await setImmediate()
      }
      if (factors && adapter.magnitudes.length > 0)
        engine.write(factors, await factorsOf(target, adapter), slot * target.outputs * 4)
    }
    return slot
  }

  return {
    slots,
    maxRank,
    buffers: Object.fromEntries(
      stacks.flatMap(({ target: { name }, a, b, ranks, factors }) => [
        [stackName(name, 'a'), a],
        [stackName(name, 'b'), b],
        [stackName(name, 'ranks'), ranks],
        ...(factors ? [[stackName(name, 'factors'), factors] as const] : []),
      ]),
    ),
    put,
    free: slot => void free.push(slot),
  }
}
