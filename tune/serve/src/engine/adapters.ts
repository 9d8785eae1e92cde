/**
 * Adapters in memory. Each occupies one slot of the stacks that programs read, so loading one changes no
 * program and no other adapter.
 */
import { setImmediate } from 'node:timers/promises'
import { MAGNITUDE } from '@cairn-tune/models'
import { encodeBf16, type Arithmetic } from '@cairn-tune/ops'
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import {
  decodeFloats,
  linearsOf,
  missingExperts,
  type AdapterLimits,
  type StoredAdapter,
  type StoredTensor,
} from '@cairn-tune/weights'
import type { OwnWeights } from './own-weights.ts'

/** A linear that adapters may modify. With experts it has one matrix per expert. */
export type AdapterTarget = { name: string; inputs: number; outputs: number; experts?: number | undefined }

/** A loaded adapter. Ids are never reused; slots are. */
export type LoadedAdapter = {
  readonly id: number
  readonly name: string
  /** Slot of its matrices, if it has one. */
  slot: number | undefined
  readonly path: string
  readonly stored: StoredAdapter
  readonly rank: number
  /** The weights of the base that it replaces, if any. */
  readonly own: OwnWeights | undefined
}

export type AdapterStacks = {
  readonly slots: number
  readonly maxRank: number
  /** Buffers of the stacks, by their binding names in programs. */
  readonly buffers: Readonly<Record<string, DeviceBuffer>>
  /**
   * Writes an adapter to a free slot and returns it. Undefined if there is none. Yields to other work between
   * matrices. The slot stays free if a write throws.
   */
  put(adapter: StoredAdapter): Promise<number | undefined>
  free(slot: number): void
}

/**
 * Names of a target's buffers: stacks of its matrices, rank and scale of each pair in them, and DoRA's
 * factors of columns. Targets of experts have the slots of expert 0, then those of expert 1, and so on.
 */
export const stackName = (target: string, part: 'a' | 'b' | 'ranks' | 'factors') => `${target}.lora_${part}`

/** One matrix pair of a target: its name in an adapter, and its index in the stacks for slot 0. */
type Pair = { name: string; first: number }

const pairsOf = (target: AdapterTarget, slots: number): Pair[] =>
  linearsOf(target).map((name, e) => ({ name, first: e * slots }))

/** Numbers that are written between yields: about a millisecond's work. */
const NUMBERS_AT_ONCE = 250_000

type Codes = Uint16Array | Float32Array

const modulesOf = (targets: readonly AdapterTarget[]) => [
  ...new Set(targets.map(({ name }) => name.split('.').at(-1))),
]

/** Limit for a safetensors header with one entry per tensor. */
const MAX_HEADER_BYTES = 100_000_000

/**
 * Maximum size of an adapter's file: every linear at the maximum rank, in 64-bit numbers, and the weights
 * that it replaces.
 */
export function limitsOf(
  targets: readonly AdapterTarget[],
  maxRank: number,
  maxChangeBytes: number,
): AdapterLimits {
  // Gate and up of fused experts share matrices of twice the rank, half of which are zeros.
  const rank = 2 * maxRank
  const numbers = targets.reduce(
    (sum, { inputs, outputs, experts = 1 }) => sum + experts * (rank * (inputs + outputs) + outputs),
    0,
  )
  const experts = Math.max(0, ...targets.map(({ experts: count }) => count ?? 0))
  return { maxBytes: 8 * numbers + maxChangeBytes + MAX_HEADER_BYTES, experts }
}

/** The reason why an adapter does not fit this base, or undefined. */
export function incompatibility(
  adapter: StoredAdapter,
  targets: readonly AdapterTarget[],
  maxRank: number,
): string | undefined {
  if (adapter.lora_rank > maxRank)
    return `LoRA rank ${adapter.lora_rank} is greater than max_lora_rank ${maxRank}.`
  const known = new Map(targets.flatMap(one => pairsOf(one, 1).map(({ name }) => [name, one] as const)))
  const stranger = (name: string) =>
    `${name} adapts a linear that the base model does not have; supported: ${modulesOf(targets).join(', ')}.`
  const misshapen = (name: string, shape: readonly number[], wanted: readonly number[]) =>
    shape.length === wanted.length && shape.every((size, i) => size === wanted[i])
      ? undefined
      : `${name} has shape (${shape.join(', ')}), expected (${wanted.join(', ')}); ` +
        'the adapter was trained on another base.'
  for (const { name, shape } of adapter.tensors) {
    const [, linear = '', side] = /^(.+)\.lora_([AB])\.weight$/.exec(name) ?? []
    const target = known.get(linear)
    if (!target) return stranger(name)
    const wanted = side === 'A' ? [shape[0], target.inputs] : [target.outputs, shape[1]]
    const wrong = misshapen(name, shape, wanted)
    if (wrong) return wrong
  }
  for (const { name, shape } of adapter.magnitudes) {
    const target = known.get(name.slice(0, -MAGNITUDE.length))
    if (!target) return stranger(name)
    if (target.experts !== undefined)
      return `${name} is a DoRA vector of an expert; DoRA is not supported for experts.`
    const wrong = misshapen(name, shape, [target.outputs])
    if (wrong) return wrong
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
  /** DoRA's factors of a target's columns for an adapter. */
  factorsOf: (target: AdapterTarget, adapter: StoredAdapter) => Promise<Float32Array>
}

export function createAdapterStacks(
  engine: Engine,
  targets: readonly AdapterTarget[],
  { slots, maxRank, dtype, factorsOf }: StackOptions,
): AdapterStacks {
  const bytes = dtype === 'bf16' ? 2 : 4
  const view = (buffer: Uint8Array): Codes =>
    dtype === 'bf16'
      ? new Uint16Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 2)
      : new Float32Array(buffer.buffer, buffer.byteOffset, buffer.byteLength / 4)
  const stacks = targets.map(target => {
    // Pages of unused slots and ranks are never touched, and take no memory.
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

  /** Converts a matrix to the codes of the stacks, without touching a file that already has them. */
  function codesOf({ dtype: stored, bytes: file }: StoredTensor): Codes {
    if (stored === (dtype === 'bf16' ? 'BF16' : 'F32'))
      return view(file.byteOffset % bytes === 0 ? file : file.slice())
    const values = decodeFloats(stored, file)
    if (dtype === 'f32') return values
    const codes = new Uint16Array(values.length)
    for (let i = 0; i < codes.length; i++) codes[i] = encodeBf16(values[i] ?? 0)
    return codes
  }

  /**
   * Writes to one slot of a stack. Throws if the source is longer than a slot, because its end would
   * overwrite the slot of another adapter.
   */
  function writeSlot(
    stack: DeviceBuffer,
    { index, byteLength }: { index: number; byteLength: number },
    source: ArrayBufferView | { byteLength: number; fill: (memory: Uint8Array) => void },
  ): void {
    if (source.byteLength > byteLength)
      throw new RangeError(`an adapter writes ${source.byteLength} bytes to an adapter slot of ${byteLength}`)
    const given = ArrayBuffer.isView(source)
      ? source
      : (memory: Uint8Array) => source.fill(memory.subarray(0, source.byteLength))
    engine.write(stack, given, index * byteLength)
  }

  type Writing = {
    a: DeviceBuffer
    b: DeviceBuffer
    ranks: DeviceBuffer
    /** Index of the pair in the stacks. */
    index: number
    scale: number
    down: StoredTensor | undefined
    up: StoredTensor | undefined
  }

  /** Writes one pair of matrices with its rank and scale. Returns how many numbers it wrote. */
  function writePair(
    { inputs, outputs }: AdapterTarget,
    { a, b, ranks, index, scale, down, up }: Writing,
  ): number {
    const rank = down && up ? down.shape[0] : 0
    writeSlot(ranks, { index, byteLength: 2 * 4 }, Float32Array.of(rank, scale))
    if (!down || !up) return 0
    writeSlot(a, { index, byteLength: maxRank * inputs * bytes }, codesOf(down))
    // B is transposed: a row of the stack holds the weights from one rank dimension to all outputs.
    const codes = codesOf(up)
    writeSlot(
      b,
      { index, byteLength: maxRank * outputs * bytes },
      {
        byteLength: rank * outputs * bytes,
        fill(memory) {
          const transposed = view(memory)
          for (let n = 0; n < outputs; n++)
            for (let r = 0; r < rank; r++) transposed[r * outputs + n] = codes[n * rank + r] ?? 0
        },
      },
    )
    return rank * (inputs + outputs)
  }

  async function put(adapter: StoredAdapter): Promise<number | undefined> {
    const slot = free.pop()
    if (slot === undefined) return undefined
    try {
      await write(adapter, slot)
      return slot
    } catch (error) {
      free.push(slot)
      throw error
    }
  }

  async function write(adapter: StoredAdapter, slot: number): Promise<void> {
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
        writeSlot(factors, { index: slot, byteLength: target.outputs * 4 }, await factorsOf(target, adapter))
    }
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
