/**
 * Adapters of experts in PEFT's fused form (`target_parameters`): one pair of matrices for all experts of a
 * layer. With rank R, expert e has row e·R + j of A and column j·E + e of B, for j below R.
 *
 * PEFT wraps the module `experts` once for each of its parameters: the first, `gate_up_proj`, is under
 * `experts.base_layer` if both are adapted, and the last one under `experts` itself. Module and parameters
 * have transformers' names, which are the same for all families. Mixtral's checkpoints have others.
 */
import type { AdapterTensor, StoredTensor } from './adapter-tensor.ts'
import { UnsupportedError } from './errors.ts'
import { EXPERT_NAMES, MIXTRAL_EXPERT_NAMES, type ExpertNames } from './experts.ts'

const [GATE_UP, DOWN] = ['gate_up_proj', 'down_proj'] as const
const INNER = '.base_layer'
const MODULE = /\.experts(?:\.base_layer)?$/

/** PEFT's names of expert parameters, in `target_parameters`. */
export const EXPERT_PARAMETERS = [`mlp.experts.${GATE_UP}`, `mlp.experts.${DOWN}`] as const

/** transformers' name of the module of a layer's experts, from that of a checkpoint. */
const moduleOf = (name: string): string =>
  name.replace(`.${MIXTRAL_EXPERT_NAMES.module}.`, `.${EXPERT_NAMES.module}.`)

/** The parameter of a pair under `…experts` or `…experts.base_layer`. Undefined for other linears. */
export function fusedParameter(
  path: string,
  linear: string,
  parameters: readonly string[],
): string | undefined {
  if (!MODULE.test(linear)) return undefined
  const known = [GATE_UP, DOWN].filter(name =>
    parameters.some(parameter => parameter === name || parameter.endsWith(`.${name}`)),
  )
  const isInner = linear.endsWith(INNER)
  const parameter = isInner ? known[0] : known.at(-1)
  if (parameter === undefined || (isInner && known.length < 2))
    throw new UnsupportedError(
      `${path}: ${JSON.stringify(linear)} is an expert adapter in PEFT's fused form, but target_parameters ` +
        `(${parameters.join(', ') || 'none'}) does not name the parameters; known: ` +
        EXPERT_PARAMETERS.join(', '),
    )
  return `${isInner ? linear.slice(0, -INNER.length) : linear}.${parameter}`
}

/** The fused parameter of one expert's projection, which determines its rank and scale. */
export const parameterOf = (linear: string): string =>
  moduleOf(linear)
    .replace(/\.experts\.\d+\.(?:gate_proj|up_proj|gate_up_proj|w1|w3)$/, `.experts.${GATE_UP}`)
    .replace(/\.experts\.\d+\.(?:down_proj|w2)$/, `.experts.${DOWN}`)

/** A pair of the fused form: A is (E·R, in), B is (out, E·R). */
export type FusedPair = { parameter: string; rank: number; a: StoredTensor; b: StoredTensor }

type Codes = Uint16Array | Uint32Array | Uint8Array

/** Codes of a stored tensor, without decoding. */
function codesOf({ shape, bytes }: StoredTensor): Codes {
  const width = bytes.byteLength / (shape[0] * shape[1])
  const { buffer, byteOffset } = bytes.byteOffset % width === 0 ? bytes : bytes.slice()
  const length = shape[0] * shape[1]
  if (width === 4) return new Uint32Array(buffer, byteOffset, length)
  if (width === 2) return new Uint16Array(buffer, byteOffset, length)
  throw new UnsupportedError(`expert adapters with ${width}-byte numbers are not supported`)
}

/** Some rows and columns of one expert's (out, R) in a fused B, as bytes. */
function partOfB(
  codes: Codes,
  { experts, rank, expert, rows, columns }: BPart,
): { bytes: Uint8Array; isZero: boolean } {
  const part = codes.slice(0, (rows.end - rows.start) * (columns.end - columns.start))
  let isZero = true
  let to = 0
  for (let o = rows.start; o < rows.end; o++)
    for (let j = columns.start; j < columns.end; j++) {
      const code = codes[o * rank * experts + j * experts + expert] ?? 0
      isZero &&= code === 0
      part[to++] = code
    }
  return { bytes: new Uint8Array(part.buffer, part.byteOffset, part.byteLength), isZero }
}

type Range = { start: number; end: number }
type BPart = { experts: number; rank: number; expert: number; rows: Range; columns: Range }

/**
 * The pairs of every expert. With `names`, gate and up are separate linears. They share A; or, if B is block
 * diagonal with zeros (the fused form of separate adapters), each has half of A's rows.
 */
export function* partFused(
  { parameter, rank, a, b }: FusedPair,
  names: ExpertNames | undefined,
): Generator<StoredTensor[]> {
  const [experts, inputs, outputs] = [a.shape[0] / rank, a.shape[1], b.shape[0]]
  const [from, codes] = [codesOf(a), codesOf(b)]
  const { module, gate: gateName, up: upName, down } = names ?? EXPERT_NAMES
  const fusedStem = parameter.slice(0, parameter.lastIndexOf('.'))
  const stem = fusedStem.replace(/\.mlp\.experts$/, `.${module}.experts`)
  const all = { start: 0, end: rank }
  const pairOf = (expert: number, name: string, rows: Range, columns: Range): StoredTensor[] => {
    const linear = `${stem}.${expert}.${name}`
    const rowsOfA = from.slice(
      (expert * rank + columns.start) * inputs,
      (expert * rank + columns.end) * inputs,
    )
    const width = columns.end - columns.start
    return [
      {
        name: `${linear}.lora_A.weight`,
        shape: [width, inputs],
        dtype: a.dtype,
        bytes: new Uint8Array(rowsOfA.buffer, rowsOfA.byteOffset, rowsOfA.byteLength),
      },
      {
        name: `${linear}.lora_B.weight`,
        shape: [rows.end - rows.start, width],
        dtype: b.dtype,
        bytes: partOfB(codes, { experts, rank, expert, rows, columns }).bytes,
      },
    ]
  }
  const isDown = parameter.endsWith(DOWN)
  if (!names || isDown) {
    const name = isDown ? down : GATE_UP
    for (let e = 0; e < experts; e++) yield pairOf(e, name, { start: 0, end: outputs }, all)
    return
  }
  const [gate, up] = [
    { start: 0, end: outputs / 2 },
    { start: outputs / 2, end: outputs },
  ]
  const [first, second] = [
    { start: 0, end: rank / 2 },
    { start: rank / 2, end: rank },
  ]
  const isZero = (expert: number, rows: Range, columns: Range) =>
    partOfB(codes, { experts, rank, expert, rows, columns }).isZero
  const isTwoBlocks =
    rank % 2 === 0 &&
    Array.from({ length: experts }, (_, e) => isZero(e, gate, second) && isZero(e, up, first)).every(Boolean)
  for (let e = 0; e < experts; e++)
    yield [
      ...pairOf(e, gateName, gate, isTwoBlocks ? first : all),
      ...pairOf(e, upName, up, isTwoBlocks ? second : all),
    ]
}

/** An adapter's matrices of one projection of all experts: (E, rank, in) or (E, out, rank). */
export type AdapterStack = { name: string; shape: readonly [number, number, number]; values: Float32Array }

const at = (values: Float32Array, index: number) => values[index] ?? 0

type StackPair = { a: AdapterStack; b: AdapterStack }

/** One A for several projections of the same input: their rows one after another, expert by expert. */
function fuseA(stacks: readonly AdapterStack[]): Omit<AdapterTensor, 'name'> {
  const [experts, , inputs] = stacks[0]?.shape ?? [0, 0, 0]
  const rank = stacks.reduce((sum, { shape }) => sum + shape[1], 0)
  const values = new Float32Array(experts * rank * inputs)
  let to = 0
  for (let e = 0; e < experts; e++)
    for (const { shape, values: from } of stacks) {
      const size = shape[1] * inputs
      values.set(from.subarray(e * size, (e + 1) * size), to)
      to += size
    }
  return { shape: [experts * rank, inputs], values }
}

/** The B that belongs to it: block diagonal, with zeros elsewhere. */
function fuseB(stacks: readonly AdapterStack[]): Omit<AdapterTensor, 'name'> {
  const experts = stacks[0]?.shape[0] ?? 0
  const [outputs, rank] = [1, 2].map(i => stacks.reduce((sum, { shape }) => sum + (shape[i] ?? 0), 0)) as [
    number,
    number,
  ]
  const values = new Float32Array(outputs * rank * experts)
  let [row, column] = [0, 0]
  for (const {
    shape: [, rows, columns],
    values: from,
  } of stacks) {
    for (let e = 0; e < experts; e++)
      for (let o = 0; o < rows; o++)
        for (let j = 0; j < columns; j++)
          values[((row + o) * rank + column + j) * experts + e] = at(from, (e * rows + o) * columns + j)
    row += rows
    column += columns
  }
  return { shape: [outputs, rank * experts], values }
}

/** The fused form of a model's stacks. */
export function fuseStacks(stacks: readonly AdapterStack[]): AdapterTensor[] {
  const pairs = new Map<string, StackPair>()
  for (const b of stacks) {
    const linear = b.name.replace(/\.lora_B\.weight$/, '')
    const a = stacks.find(({ name }) => name === `${linear}.lora_A.weight`)
    if (linear !== b.name && a) pairs.set(linear, { a, b })
  }
  const modules = new Set([...pairs.keys()].map(linear => linear.slice(0, linear.lastIndexOf('.'))))
  return [...modules].flatMap(stored => {
    const named = (names: readonly string[]) => names.flatMap(name => pairs.get(`${stored}.${name}`) ?? [])
    const [inner, outer] = [
      named(['gate_proj', 'up_proj', GATE_UP, MIXTRAL_EXPERT_NAMES.gate, MIXTRAL_EXPERT_NAMES.up]),
      named([DOWN, MIXTRAL_EXPERT_NAMES.down]),
    ]
    const module = moduleOf(stored)
    const fuse = (name: string, of: readonly StackPair[]): AdapterTensor[] =>
      of.length === 0
        ? []
        : [
            { name: `${name}.lora_A.weight`, ...fuseA(of.map(({ a }) => a)) },
            { name: `${name}.lora_B.weight`, ...fuseB(of.map(({ b }) => b)) },
          ]
    return [...fuse(outer.length > 0 ? `${module}${INNER}` : module, inner), ...fuse(module, outer)]
  })
}
