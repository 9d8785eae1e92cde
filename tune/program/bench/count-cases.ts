/**
 * What the kernels are counted on: shapes large enough that their loops outweigh their ends, as in a LoRA
 * step of a dense model, and for each other kernel the first case of its tests.
 */
import type { Attrs, Dtype, OpName } from '@cairn-tune/ops'
import { createRecorder } from '../src/record.ts'
import type { Program, Tensor } from '../src/program.ts'
import { noise, tensor, type Values } from '../test/one-op.ts'
import { range } from '../test/serving-cases.ts'

export type CountCase = { op: OpName; name: string; inputs: Values; attrs: Attrs }

const bf16 = (rows: number, columns: number) => noise('bf16', [rows, columns], 1)
const floats = (...shape: number[]) => noise('f32', shape, 1)
const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' } as const

/** Products with results of m×n and sums of k, and of an adapter's rank: in the forms nt, nn and tn. */
function* products(m: number, n: number, k: number, stored: Dtype = 'bf16', rank = 0): Generator<CountCase> {
  const name = `${stored} ${m}×${n}×${k}${rank ? `+${rank}` : ''}`
  const a = rank ? { a: bf16(m, k), a2: bf16(m, rank) } : { a: bf16(m, k) }
  const nt = { ...a, b: noise(stored, [n, k], 1), ...(rank ? { b2: bf16(n, rank) } : {}) }
  yield { op: 'matmul_nt', name, inputs: nt, attrs }
  const nn = { ...a, b: noise(stored, [k, n], 1), ...(rank ? { b2: bf16(rank, n) } : {}) }
  yield { op: 'matmul_nn', name, inputs: nn, attrs: { ...attrs, stream: 0 } }
  if (stored === 'bf16' && rank) {
    const unit = { ...nn, gate: bf16(m, n), up: bf16(m, n) }
    const [b2, second] = [bf16(n, rank), bf16(m, rank)]
    const [gate, up] = [
      { gate_b: nt.b, gate_a2: second, gate_b2: b2 },
      { up_b: nt.b, up_a2: second, up_b2: b2 },
    ]
    const both = { arithmetic: 'bf16', dtype: 'bf16' }
    yield { op: 'matmul_nt_swiglu', name, inputs: { a: a.a, ...gate, ...up }, attrs: both }
    yield { op: 'matmul_nn_swiglu_grad', name, inputs: unit, attrs: { ...attrs, stream: 0 } }
  }
  if (stored === 'bf16' && !rank)
    yield { op: 'matmul_tn', name, inputs: { a: bf16(k, m), b: bf16(k, n) }, attrs }
}

/** Products of fp8 operands, forward and back. */
function* fp8Products(m: number, n: number, k: number, rank: number): Generator<CountCase> {
  const given = { a2: bf16(m, rank), a_amax: tensor('f32', [1], [1]) }
  for (const stored of ['fp8_tensor', 'fp8_tiles'] as const) {
    const name = `fp8_hybrid ${stored} ${m}×${n}×${k}+${rank}`
    const nt = { ...given, a: bf16(m, k), b: noise(stored, [n, k], 1), b2: bf16(n, rank) }
    yield { op: 'matmul_nt', name, inputs: nt, attrs: { ...attrs, arithmetic: 'fp8_hybrid' } }
    const nn = { ...given, a: bf16(m, k), b: noise(stored, [k, n], 1), b2: bf16(rank, n) }
    yield { op: 'matmul_nn', name, inputs: nn, attrs: { ...attrs, arithmetic: 'fp8_hybrid', stream: 0 } }
  }
}

/** Products of NVFP4 operands, forward. */
function fp4Product(m: number, n: number, k: number, rank: number): CountCase {
  const given = { a2: bf16(m, rank), b2: bf16(n, rank), a_amax: tensor('f32', [1], [1]) }
  return {
    op: 'matmul_nt',
    name: `nvfp4 nvfp4 ${m}×${n}×${k}+${rank}`,
    inputs: { ...given, a: bf16(m, k), b: noise('nvfp4', [n, k], 1) },
    attrs: { ...attrs, arithmetic: 'nvfp4' },
  }
}

/** The products of an adapter: x·Aᵀ, dy·B, and the sums of the gradients of both. */
function* adapters(m: number, k: number, rank: number): Generator<CountCase> {
  const name = `rank ${rank}, ${m}×${k}`
  const [x, hidden] = [bf16(m, k), bf16(m, rank)]
  yield { op: 'matmul_nt', name, inputs: { a: x, b: bf16(rank, k) }, attrs }
  yield { op: 'matmul_nn', name, inputs: { a: x, b: bf16(k, rank) }, attrs: { ...attrs, stream: 0 } }
  const sum = { alpha: 1, arithmetic: 'bf16', dtype: 'f32' }
  yield {
    op: 'matmul_tn',
    name: `${name}, A`,
    inputs: { a: hidden, b: x, addend: floats(rank, k) },
    attrs: sum,
  }
  yield {
    op: 'matmul_tn',
    name: `${name}, B`,
    inputs: { a: x, b: hidden, addend: floats(k, rank) },
    attrs: sum,
  }
}

function* attentions(tokens: number, heads: number, kvHeads: number, width: number): Generator<CountCase> {
  const name = `${tokens} tokens, ${heads}/${kvHeads} heads of ${width}`
  const [wide, narrow] = [bf16(tokens, heads * width), bf16(tokens, kvHeads * width)]
  const read = { q: wide, k: narrow, v: narrow, cu_seqlens: tensor('i32', [2], [0, tokens]) }
  const given = { heads, kv_heads: kvHeads, scale: width ** -0.5 }
  yield { op: 'attention', name, inputs: read, attrs: given }
  const grad = { ...read, dy: wide, y: wide, lse: floats(heads, tokens) }
  yield { op: 'attention_grad', name, inputs: grad, attrs: given }
}

function* rows(count: number, columns: number, width: number): Generator<CountCase> {
  const name = `${count}×${columns}`
  const [x, weight, rstd] = [bf16(count, columns), noise('bf16', [columns], 1), floats(count)]
  yield { op: 'rms_norm', name, inputs: { x, weight }, attrs: { eps: 1e-6 } }
  yield { op: 'rms_norm_grad', name, inputs: { dy: x, x, weight, rstd }, attrs: {} }
  yield { op: 'swiglu', name, inputs: { gate: x, up: x }, attrs: {} }
  yield { op: 'swiglu_grad', name, inputs: { dy: x, gate: x, up: x }, attrs: {} }
  yield { op: 'add', name, inputs: { a: x, b: x }, attrs: {} }
  yield { op: 'cast', name, inputs: { x: floats(count, columns) }, attrs: { dtype: 'bf16' } }
  const heads = columns / width
  const rope = {
    x,
    weight: noise('bf16', [width], 1),
    positions: tensor(
      'i32',
      [count],
      range(count, i => i),
    ),
    cos_sin: floats(count, width),
  }
  const named = `${count}×${heads} heads of ${width}`
  yield { op: 'qk_norm_rope', name: named, inputs: rope, attrs: { heads, interleaved: 0, eps: 1e-6 } }
  const grad = { ...rope, dy: x, rstd: floats(count, heads) }
  yield { op: 'qk_norm_rope_grad', name: named, inputs: grad, attrs: { heads, interleaved: 0 } }
}

function* steps(count: number): Generator<CountCase> {
  const name = `${count} numbers`
  const [p, one] = [floats(count), floats(1)]
  const schedule = tensor('f32', [2], [1e-3, 7])
  const adam = { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 }
  yield { op: 'adamw', name, inputs: { p, g: p, m: p, v: p, factor: one, schedule }, attrs: adam }
  yield { op: 'sum_squares', name, inputs: { x: p }, attrs: {} }
}

const head: CountCase = {
  op: 'head_loss',
  name: '128×256×2048',
  inputs: {
    x: bf16(128, 256),
    weight: bf16(2048, 256),
    targets: tensor(
      'i32',
      [128],
      range(128, i => i),
    ),
  },
  attrs: { arithmetic: 'bf16', chunk: 128, scale: 0, softcap: 0 },
}

/** The weights of a recipe, decoded in tiles of 64 and of 128 rows, or before the product on sm_90. */
const STORED = ['fp8_tiles', 'fp8_tensor', 'nvfp4', 'mxfp4', 'nf4'] as const

/** Cases of the kernels that only sm_120a has. */
export const listFp4CountCases = (): CountCase[] => [fp4Product(256, 512, 512, 16)]

export const listCountCases = (): CountCase[] => [
  ...products(256, 256, 512),
  ...products(1280, 1536, 256),
  ...products(1280, 3072, 256),
  ...products(1280, 1536, 256, 'bf16', 16),
  ...products(1280, 3072, 256, 'bf16', 16),
  ...STORED.flatMap(stored => [...products(128, 128, 512, stored), ...products(1280, 1536, 256, stored)]),
  ...fp8Products(256, 512, 512, 16),
  ...listFp4CountCases(),
  ...[16, 32, 48].flatMap(rank => [...adapters(512, 1024, rank)]),
  ...attentions(512, 2, 1, 128),
  ...attentions(512, 2, 1, 64),
  ...rows(64, 1024, 128),
  ...steps(65_536),
  head,
]

export type CountProgram = { name: string; program: Program }

/** Products of adapters that share launches on a card: of three linears with one input, and of one linear. */
export function listCountPrograms(): CountProgram[] {
  const [m, k, rank] = [512, 1024, 16]
  const sum = { alpha: 1, arithmetic: 'bf16', dtype: 'f32' } as const
  // Results that nothing reads would share memory, and then no launch.
  const of = (what: string, record: (g: ReturnType<typeof createRecorder>) => Tensor[]) => {
    const g = createRecorder()
    const results = record(g).map((y, i) => [`y${i}`, y] as const)
    return { name: `${what}, rank ${rank}, ${m}×${k}`, program: g.finish(Object.fromEntries(results)) }
  }
  return [
    of('x·Aᵀ of three', g => {
      const a = g.input('x', 'bf16', [m, k])
      return [0, 1, 2].map(i => g.matmul_nt({ a, b: g.input(`A${i}`, 'bf16', [rank, k]) }, attrs).y)
    }),
    of('dy·B and dyᵀ·z', g => {
      const [a, b] = [g.input('dy', 'bf16', [m, k]), g.input('B', 'bf16', [k, rank])]
      const dz = g.matmul_nn({ a, b }, { ...attrs, stream: 0 }).y
      return [dz, g.matmul_tn({ a, b: g.input('z', 'bf16', [m, rank]) }, sum).y]
    }),
    of('dzᵀ·x of three', g => {
      const b = g.input('x', 'bf16', [m, k])
      return [0, 1, 2].map(i => g.matmul_tn({ a: g.input(`dz${i}`, 'bf16', [m, rank]), b }, sum).y)
    }),
  ]
}
