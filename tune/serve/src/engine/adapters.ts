/**
 * Adapters in memory: each takes one slot of the stacks that programs read, so loading one touches no program
 * and no other adapter.
 */
import { setImmediate } from 'node:timers/promises'
import { encodeBf16, type Arithmetic } from '@cairn-tune/ops'
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { decodeFloats, type StoredAdapter, type StoredTensor } from '@cairn-tune/weights'

/** A linear that adapters may change. */
export type Target = { name: string; inputs: number; outputs: number }

/** An adapter that is loaded. Ids are never used again, slots are. */
export type LoadedAdapter = {
  readonly id: number
  readonly name: string
  readonly slot: number
  readonly path: string
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
  const known = new Map(targets.map(target => [target.name, target]))
  for (const { name, shape } of adapter.tensors) {
    const [, linear = '', side] = /^(.+)\.lora_([AB])\.weight$/.exec(name) ?? []
    const target = known.get(linear)
    if (!target)
      return (
        `${name} changes a linear that the base model does not have; adapters of ` +
        `${modulesOf(targets).join(', ')} are served.`
      )
    const wanted = side === 'A' ? [adapter.lora_rank, target.inputs] : [target.outputs, adapter.lora_rank]
    if (shape[0] !== wanted[0] || shape[1] !== wanted[1])
      return (
        `${name} is (${shape.join(', ')}) where the base model needs (${wanted.join(', ')}); it ` +
        'was trained on another base.'
      )
  }
  return undefined
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
  const stacks = targets.map(target => {
    // Pages of slots and ranks that are never used are never touched, and take no memory.
    const [a, b] = [
      engine.allocate(slots * maxRank * target.inputs * bytes),
      engine.allocate(slots * maxRank * target.outputs * bytes),
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

  async function put(adapter: StoredAdapter): Promise<number | undefined> {
    const slot = free.pop()
    if (slot === undefined) return undefined
    const matrices = new Map(adapter.tensors.map(tensor => [tensor.name, tensor]))
    const rank = adapter.lora_rank
    let written = 0
    for (const {
      target: { name, inputs, outputs },
      a,
      b,
    } of stacks) {
      const down = matrices.get(`${name}.lora_A.weight`)
      const up = matrices.get(`${name}.lora_B.weight`)
      const [atA, atB] = [slot * maxRank * inputs * bytes, slot * maxRank * outputs * bytes]
      if (!down || !up) {
        engine.clear(b, atB, atB + rank * outputs * bytes)
        continue
      }
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
      written += rank * (inputs + outputs)
      if (written < NUMBERS_AT_ONCE) continue
      written = 0
      await setImmediate()
    }
    engine.write(ranks, Float32Array.of(rank, adapter.scale), slot * 2 * 4)
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
    ]),
    put,
    free: slot => void free.push(slot),
  }
}
