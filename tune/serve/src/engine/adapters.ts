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
  /** Buffers of the stacks and of `lora.ranks`, by the names that programs bind. */
  readonly buffers: Readonly<Record<string, DeviceBuffer>>
  /**
   * Writes an adapter to a free slot, or gives undefined where there is none. Yields to other work between
   * matrices.
   */
  put(adapter: StoredAdapter): Promise<number | undefined>
  free(slot: number): void
}

export const stackName = (target: string, side: 'a' | 'b') => `${target}.lora_${side}`
export const RANKS = 'lora.ranks'
/** The same for the stacks of experts, which have the slots of expert 0, then those of expert 1, and so on. */
export const EXPERT_RANKS = 'lora.expert_ranks'

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

export function createAdapterStacks(
  engine: Engine,
  targets: readonly Target[],
  { slots, maxRank, dtype }: { slots: number; maxRank: number; dtype: Arithmetic },
): AdapterStacks {
  const bytes = dtype === 'bf16' ? 2 : 4
  const view = (buffer: Uint8Array): Codes =>
    dtype === 'bf16'
      ? new Uint16Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 2)
      : new Float32Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 4)
  const ranks = engine.allocate(slots * 2 * 4)
  const mostExperts = Math.max(0, ...targets.map(({ experts = 0 }) => experts))
  const expertRanks = engine.allocate(mostExperts * slots * 2 * 4)
  const stacks = targets.map(target => {
    // Pages of slots and ranks that are never used are never touched, and take no memory.
    const count = slots * (target.experts ?? 1)
    const [a, b] = [
      engine.allocate(count * maxRank * target.inputs * bytes),
      engine.allocate(count * maxRank * target.outputs * bytes),
    ]
    return { target, a, b }
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
    /** Which pair of the stacks. */
    index: number
    rank: number
    down: StoredTensor | undefined
    up: StoredTensor | undefined
  }

  /** Writes one pair of matrices, with zeros up to the adapter's rank; how many numbers those were. */
  function writePair({ inputs, outputs }: Target, { a, b, index, rank, down, up }: Writing): number {
    const [atA, atB] = [index * maxRank * inputs * bytes, index * maxRank * outputs * bytes]
    const own = down && up ? down.shape[0] : 0
    engine.clear(a, atA + own * inputs * bytes, atA + rank * inputs * bytes)
    engine.clear(b, atB + own * outputs * bytes, atB + rank * outputs * bytes)
    if (!down || !up) return 0
    engine.write(a, codesOf(down), atA)
    // B transposed: a row of the stack is what one number of the middle adds to all outputs.
    const codes = codesOf(up)
    engine.write(
      b,
      memory => {
        const transposed = view(memory)
        for (let n = 0; n < outputs; n++)
          for (let r = 0; r < own; r++) transposed[r * outputs + n] = codes[n * own + r] ?? 0
      },
      atB,
    )
    return own * (inputs + outputs)
  }

  async function put(adapter: StoredAdapter): Promise<number | undefined> {
    const slot = free.pop()
    if (slot === undefined) return undefined
    const matrices = new Map(adapter.tensors.map(tensor => [tensor.name, tensor]))
    const rank = adapter.lora_rank
    let written = 0
    for (const { target, a, b } of stacks)
      for (const { name, first } of pairsOf(target, slots)) {
        const [down, up] = [matrices.get(`${name}.lora_A.weight`), matrices.get(`${name}.lora_B.weight`)]
        written += writePair(target, { a, b, index: first + slot, rank, down, up })
        if (written < NUMBERS_AT_ONCE) continue
        written = 0
        await setImmediate()
      }
    const counted = Float32Array.of(rank, adapter.scale)
    engine.write(ranks, counted, slot * 2 * 4)
    for (let e = 0; e < mostExperts; e++) engine.write(expertRanks, counted, (e * slots + slot) * 2 * 4)
    return slot
  }

  return {
    slots,
    maxRank,
    buffers: Object.fromEntries([
      ...stacks.flatMap(
        ({ target: { name }, a, b }) =>
          [
            [stackName(name, 'a'), a],
            [stackName(name, 'b'), b],
          ] as const,
      ),
      [RANKS, ranks],
      [EXPERT_RANKS, expertRanks],
    ]),
    put,
    free: slot => void free.push(slot),
  }
}
