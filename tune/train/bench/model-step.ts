/**
 * The time of a program on a card by a model, which is not a measurement: for each launch a gap, and for each
 * op the larger of its arithmetic and its bytes, at the rates that one H100 reached on single ops.
 */
import { readFileSync } from 'node:fs'
import { byteLength, type Shape } from '@cairn-tune/ops'
import type { CudaEngine } from '@cairn-tune/native'
import {
  flatten,
  inputTensors,
  outputTensors,
  planMemory,
  type Program,
  type Step,
  type Tensor,
} from '@cairn-tune/program'

export const GROUPS = ['linears', 'adapters', 'attention', 'its gradient', 'head', 'others'] as const
export type Group = (typeof GROUPS)[number]

export type Work = {
  launches: number
  /** Multiply-adds of tensor cores, in products of 16×8×16, with those that only fill tiles. */
  products: number
  bytes: number
  seconds: number
}

/** Documents of the batch, each of `length` tokens. Programs do not contain them. */
export type Documents = { count: number; length: number }

const GAP = 1.5e-6
const PRODUCT = 16 * 8 * 16
/** Copies reach about nine tenths of the 3.35 TB/s in the data sheet of an H100 SXM. */
const BYTES = 3.0e12
/** Tokens of a tile of attention. */
const TILE = 64

type Row = { what: string; tflops?: number }
const { rows } = JSON.parse(
  readFileSync(new URL('../../../docs/data/benchmarks/tune-cuda.json', import.meta.url), 'utf8'),
) as { rows: Row[] }

function rateOf(what: string): number {
  const found = rows.find(row => row.what.startsWith(what) && row.tflops !== undefined)
  if (!found?.tflops) throw new Error(`tune-cuda.json has no rate of ${what}`)
  return found.tflops * 1e12
}

/** FLOP/s of products by the length of their sums. */
const BY_LENGTH = [
  [1024, rateOf('product 4096 x 2048 x 1024, bf16')],
  [4096, rateOf('product 4096 x 12288 x 4096, bf16')],
  [12288, rateOf('product 4096 x 4096 x 12288, bf16')],
] as const

/** Executed attention of 2048 tokens beside the useful half of the square: the diagonal is whole tiles. */
const WHOLE_TILES = 1 + TILE / 2048
const ATTENTION = rateOf('attention, 2048 tokens') * WHOLE_TILES
/** Seven products for five useful ones. They use mma.sync, as the small tiles of products do. */
const GRADIENT = rateOf('its gradient') * WHOLE_TILES * (7 / 5)

/** Interpolates between the measured lengths. */
function productRate(k: number): number {
  let [low, high] = [BY_LENGTH[0], BY_LENGTH[1]] as [readonly [number, number], readonly [number, number]]
  if (k > high[0]) [low, high] = [high, BY_LENGTH[2]]
  const at = Math.log(k / low[0]) / Math.log(high[0] / low[0])
  return low[1] + Math.min(1, Math.max(0, at)) * (high[1] - low[1])
}

const up = (count: number, each: number) => Math.ceil(count / each) * each
const sizeOf = ({ dtype, shape }: Tensor) => byteLength(dtype, shape)

type Tile = { form: string; rows: number; columns: number; depth: number }

/** The tile of a kernel of products, by its name: `matmul_nt_64`, `wgmma_nn_256`, `matmul_nt_nf4_128`. */
function tileOf(kernel: string): Tile | undefined {
  const [, family, form = '', size] = /^(matmul|wgmma|fp8)_(nt|nn|tn)_(?:\w+_)?(\d+)$/.exec(kernel) ?? []
  if (family === undefined) return undefined
  const columns = Number(size)
  return family === 'matmul'
    ? { form, rows: columns, columns, depth: 32 }
    : { form, rows: 128, columns, depth: family === 'fp8' ? 128 : 64 }
}

/** Multiply-adds that a kernel executes for a product of m×n with sums of each length. */
function executed(kernel: string, m: number, n: number, sums: readonly number[]): number {
  const tile = tileOf(kernel)
  if (!tile) return 0
  const depth = sums.reduce((sum, k) => sum + up(k, tile.depth), 0)
  return up(m, tile.rows) * up(n, tile.columns) * depth
}

/** No rate of fp8 has been measured, so its products have that of bf16. */
const flopsRate = (kernel: string, k: number) => (/^(wgmma|fp8)/.test(kernel) ? productRate(k) : GRADIENT)

/** Bytes are those besides inputs, outputs and scratch. */
type Parts = { macs: number; seconds: number; bytes: number }

function productOf(step: Step, kernels: readonly string[]): Parts {
  const shape = (name: string): Shape => step.inputs[name]?.shape ?? []
  if (step.op === 'matmul_nt_swiglu') {
    // Second products are half as wide as the tiles of both.
    const [[m = 0, k = 0], [n = 0]] = [shape('a'), shape('gate_b')]
    const kernel = kernels.find(name => tileOf(name)) ?? ''
    const ranks = [shape('gate_a2'), shape('up_a2')].map(([, rank = 0]) => rank).filter(rank => rank > 0)
    const macs =
      executed(kernel, m, 2 * n, [k]) +
      ranks.reduce((sum, rank) => sum + executed(kernel, m, 2 * n, [rank]) / 2, 0)
    return { macs, seconds: (2 * macs) / flopsRate(kernel, k), bytes: 0 }
  }
  const [[a0 = 0, a1 = 0], [b0 = 0, b1 = 0], [, second = 0]] = [shape('a'), shape('b'), shape('a2')]
  const [m, n, k] =
    step.op === 'matmul_nt' ? [a0, b0, a1] : step.op.startsWith('matmul_nn') ? [a0, b1, a1] : [a1, b1, a0]
  const kernel = kernels.find(name => tileOf(name)) ?? ''
  const macs = executed(kernel, m, n, second ? [k, second] : [k])
  return { macs, seconds: (2 * macs) / flopsRate(kernel, k), bytes: 0 }
}

/** Products of thin.cu, whose blocks multiply 64 rows of a wide operand with all columns of the kernel. */
function thinOf(steps: readonly Step[], kernel: string): Parts {
  const columns = Number(kernel.split('_').at(-1))
  const tile = 64
  const sections = new Map<string, { each: number; columns: number }>()
  for (const step of steps) {
    const [a, b] = [step.inputs['a'], step.inputs['b']]
    const [[a0 = 0, a1 = 0], [b0 = 0, b1 = 0]] = [a?.shape ?? [], b?.shape ?? []]
    const isRight = step.op !== 'matmul_tn' || b1 <= a1
    const [rows, length, own] = step.op === 'matmul_nt' ? [a0, a1, b0] : isRight ? [a0, a1, b1] : [b0, b1, a1]
    const key = `${step.op} ${(isRight ? a : b)?.id}`
    const known = sections.get(key)?.columns ?? 0
    sections.set(key, { each: up(rows, tile) * up(length, tile) * columns, columns: known + up(own, 8) })
  }
  const macs = [...sections.values()].reduce(
    (sum, section) => sum + section.each * Math.ceil(section.columns / tile),
    0,
  )
  return { macs, seconds: (2 * macs) / GRADIENT, bytes: 0 }
}

/** A chunk of logits at a time, forward and back. */
function headOf(step: Step, kernels: readonly string[]): Parts {
  const [{ x, weight }, { chunk }] = [step.inputs, step.attrs]
  const [tokens = 0, columns = 0] = x?.shape ?? []
  const [vocab = 0] = weight?.shape ?? []
  const parts = { macs: 0, seconds: 0, bytes: 0 }
  for (let first = 0; first < tokens; first += Number(chunk)) {
    const count = Math.min(Number(chunk), tokens - first)
    for (const kernel of kernels) {
      const form = tileOf(kernel)?.form
      const macs =
        form === 'nt' ? executed(kernel, count, vocab, [columns]) : executed(kernel, count, columns, [vocab])
      parts.macs += macs
      parts.seconds += (2 * macs) / flopsRate(kernel, form === 'nt' ? columns : vocab)
    }
    // Logits are written, read and written as gradients, and read; both products read the weight.
    parts.bytes += 4 * count * vocab * 2 + (weight ? sizeOf(weight) : 0)
  }
  return parts
}

function attentionOf(step: Step, { count, length }: Documents): Parts {
  const heads = Number(step.attrs['heads'])
  const width = (step.inputs['q']?.shape[1] ?? 0) / heads
  const tiles = Math.ceil(length / TILE)
  const grid = count * heads * ((tiles * (tiles + 1)) / 2) * TILE ** 2 * up(width, TILE)
  const [products, rate] = step.op === 'attention' ? [2, ATTENTION] : [7, GRADIENT]
  return { macs: products * grid, seconds: (2 * products * grid) / rate, bytes: 0 }
}

function groupOf(step: Step | undefined): Group {
  if (!step) return 'others'
  if (step.op === 'attention') return 'attention'
  if (step.op === 'attention_grad') return 'its gradient'
  if (step.op === 'head_loss') return 'head'
  if (!step.op.startsWith('matmul_')) return 'others'
  const [rank = 0, columns = 0] = outputTensors(step)[0]?.shape ?? []
  return Math.min(rank, columns) <= 128 ? 'adapters' : 'linears'
}

/** Steps as a program of their own. None reads what another one computes. */
function alone(steps: readonly Step[]): Program {
  const tensors: Tensor[] = []
  const inputs = new Map<number, Tensor>()
  const outputs: Record<string, Tensor> = {}
  const add = (tensor: Tensor, isInput: boolean): Tensor => {
    const id = tensors.length
    const own = { ...tensor, id, name: `${isInput ? 'input' : 'output'} ${id}`, isInput }
    tensors.push(own)
    return own
  }
  for (const tensor of steps.flatMap(inputTensors))
    if (!inputs.has(tensor.id)) inputs.set(tensor.id, add(tensor, true))
  const own = steps.map(step => {
    const given = Object.entries(step.inputs).map(([name, one]) => [name, one && inputs.get(one.id)])
    const made = Object.entries(step.outputs).map(([name, one]) => [name, add(one, false)] as const)
    for (const [name, tensor] of made) outputs[`${name} ${tensor.id}`] = tensor
    return { ...step, inputs: Object.fromEntries(given), outputs: Object.fromEntries(made) }
  })
  return { tensors, steps: own, outputs }
}

function compileAlone(engine: CudaEngine, program: Program) {
  const executable = engine.compile(flatten(program, planMemory(program).placements))
  const launched = engine.launches(executable)
  const launches = Object.values(launched).reduce((sum, count) => sum + count, 0)
  return { kernels: Object.keys(launched), launches, scratch: engine.scratchBound(executable) }
}

/** The steps of a program in order, those in one list that a card launches together. */
export function stepsByLaunch(engine: CudaEngine, { steps }: Program): Step[][] {
  const known = new Map<string, boolean>()
  const share = (together: readonly Step[]): boolean => {
    const written = new Set(together.flatMap(outputTensors))
    if (!together.every(({ op }) => op.startsWith('matmul_'))) return false
    if (together.flatMap(inputTensors).some(tensor => written.has(tensor))) return false
    const program = alone(together)
    const signature = JSON.stringify(program)
    const found = known.get(signature) ?? compileAlone(engine, program).launches === 1
    known.set(signature, found)
    return found
  }
  const groups: Step[][] = []
  for (const step of steps) {
    const last = groups.at(-1)
    if (last && share([...last, step])) last.push(step)
    else groups.push([step])
  }
  return groups
}

/** Bytes of inputs and outputs. What several steps of a launch read in the same way is read once. */
export function bytesOfSteps(steps: readonly Step[]): number {
  const read = new Map(
    steps.flatMap(step => Object.entries(step.inputs).map(([name, tensor]) => [keyOf(step, name), tensor])),
  )
  return [...read.values(), ...steps.flatMap(outputTensors)].reduce(
    (sum, tensor) => sum + (tensor ? sizeOf(tensor) : 0),
    0,
  )
}

const keyOf = ({ op, inputs }: Step, name: string) => `${op} ${inputs[name]?.id}`

function partsOf(steps: readonly Step[], kernels: readonly string[], documents: Documents): Parts {
  const [step] = steps
  if (kernels[0]?.startsWith('thin_')) return thinOf(steps, kernels[0])
  if (step?.op.startsWith('matmul_')) return productOf(step, kernels)
  if (step?.op.startsWith('attention')) return attentionOf(step, documents)
  return step?.op === 'head_loss' ? headOf(step, kernels) : { macs: 0, seconds: 0, bytes: 0 }
}

function modelLaunch(engine: CudaEngine, steps: readonly Step[], documents: Documents): Work {
  const { kernels, launches, scratch } = compileAlone(engine, alone(steps))
  const parts = partsOf(steps, kernels, documents)
  // Scratch memory is written once and read once. The model of the head counts its own.
  const passes = steps[0]?.op === 'head_loss' ? 0 : 2
  const bytes = bytesOfSteps(steps) + passes * scratch + parts.bytes
  const seconds = GAP * launches + Math.max(parts.seconds, bytes / BYTES)
  return { launches, products: parts.macs / PRODUCT, bytes, seconds }
}

/** The work of a program by group. */
export function modelProgram(
  engine: CudaEngine,
  program: Program,
  documents: Documents,
): Record<Group, Work> {
  const known = new Map<string, Work>()
  const groups = Object.fromEntries(
    GROUPS.map(group => [group, { launches: 0, products: 0, bytes: 0, seconds: 0 }]),
  ) as Record<Group, Work>
  for (const steps of stepsByLaunch(engine, program)) {
    // Launches of equal steps cost the same.
    const signature = JSON.stringify(alone(steps))
    const work = known.get(signature) ?? modelLaunch(engine, steps, documents)
    known.set(signature, work)
    const sum = groups[groupOf(steps[0])]
    sum.launches += work.launches
    sum.products += work.products
    sum.bytes += work.bytes
    sum.seconds += work.seconds
  }
  return groups
}

export const sumWork = (groups: Record<Group, Work>): Work =>
  Object.values(groups).reduce((sum, work) => ({
    launches: sum.launches + work.launches,
    products: sum.products + work.products,
    bytes: sum.bytes + work.bytes,
    seconds: sum.seconds + work.seconds,
  }))
