/** What the kernels of a mixture of experts are tried on. */
import { ARITHMETICS, type Attrs, type Dtype, type OpName, type Shape } from '@cairn-tune/ops'
import type { Case } from './cases.ts'
import { noise, runOracle, tensor, type Value, type Values } from './one-op.ts'

/** The outputs of an op as inputs of others. */
function outputsOf(op: OpName, inputs: Values, attrs: Attrs, types: Record<string, [Dtype, Shape]>): Values {
  const outputs = runOracle(op, inputs, attrs)
  return Object.fromEntries(
    Object.entries(types).map(([name, [dtype, shape]]) => [name, tensor(dtype, shape, outputs[name] ?? [])]),
  )
}

/**
 * Rows of each expert: many and few, none, one, and all on one expert; and the rows after the last expert,
 * which are NaN.
 */
const SPLITS: readonly { counts: readonly number[]; unused: number }[] = [
  { counts: [33, 1, 0, 9, 300], unused: 0 },
  { counts: [0, 17, 0], unused: 0 },
  { counts: [5], unused: 0 },
  { counts: [3, 40, 0], unused: 50 },
]

const endsOf = (counts: readonly number[]): Value => {
  let sum = 0
  return tensor(
    'i32',
    [counts.length],
    counts.map(count => (sum += count)),
  )
}

export function* routes(dtype: Dtype): Generator<Case> {
  for (const [tokens, experts, top_k] of [
    [70, 13, 3],
    [3, 128, 8],
    [5, 4, 4],
  ] as const) {
    const logits = noise(dtype, [tokens, experts], 101, 4)
    for (const softmax_over_all of [0, 1]) {
      const name = `${tokens}×${experts}, ${top_k}${softmax_over_all ? ' of all' : ''}`
      yield { op: 'route', name, inputs: { logits }, attrs: { top_k, softmax_over_all }, dtype: 'f32' }
      const made = outputsOf(
        'route',
        { logits },
        { top_k, softmax_over_all },
        { weights: ['f32', [tokens, top_k]], ids: ['i32', [tokens, top_k]] },
      )
      const grad = { ...made, dweights: noise('f32', [tokens, top_k], 102), logits }
      yield { op: 'route_grad', name, inputs: grad, attrs: { softmax_over_all }, dtype }
      if (softmax_over_all) continue
      yield* spreads(dtype, { ids: made.ids }, { tokens, experts, top_k })
      yield* balances(dtype, logits, made.ids, top_k)
    }
  }
}

/** One logit and several, weighted by their sigmoid. */
export function* sigmoidRoutes(dtype: Dtype): Generator<Case> {
  for (const [tokens, experts, top_k] of [
    [9, 1, 1],
    [40, 7, 2],
  ] as const) {
    const logits = noise(dtype, [tokens, experts], 101, 4)
    const attrs = { sigmoid: 1 }
    const name = `${tokens}×${experts}, ${top_k} by sigmoid`
    yield { op: 'route', name, inputs: { logits }, attrs: { ...attrs, top_k }, dtype: 'f32' }
    const made = outputsOf(
      'route',
      { logits },
      { ...attrs, top_k },
      { weights: ['f32', [tokens, top_k]], ids: ['i32', [tokens, top_k]] },
    )
    const grad = { ...made, dweights: noise('f32', [tokens, top_k], 102), logits }
    yield { op: 'route_grad', name, inputs: grad, attrs, dtype }
  }
}

type Sizes = { tokens: number; experts: number; top_k: number }

function* spreads(dtype: Dtype, ids: Values, { tokens, experts, top_k }: Sizes): Generator<Case> {
  const name = `${tokens}×${experts}, ${top_k}`
  yield { op: 'expert_order', name, inputs: ids, attrs: { experts }, dtype: 'f32' }
  const order = outputsOf(
    'expert_order',
    ids,
    { experts },
    { ends: ['i32', [experts]], tokens: ['i32', [tokens * top_k]], places: ['i32', [tokens, top_k]] },
  )
  const { ends, tokens: from, places } = order
  const columns = 37
  yield {
    op: 'expert_rows',
    name,
    inputs: { x: noise(dtype, [tokens, columns], 103), places, tokens: from },
    attrs: {},
    dtype,
  }
  const adapters = tensor(
    'i32',
    [tokens],
    Array.from({ length: tokens }, (_, t) => (t % 4) - 1),
  )
  yield {
    op: 'expert_adapters',
    name,
    inputs: { adapters, tokens: from, ends },
    attrs: { slots: 3 },
    dtype: 'f32',
  }
  const z = noise(dtype, [tokens * top_k, columns], 104)
  const weights = noise('f32', [tokens, top_k], 105)
  yield { op: 'combine', name, inputs: { places, z, weights }, attrs: { dtype }, dtype }
  yield {
    op: 'combine',
    name: `${name}, without weights, with an addend`,
    inputs: { places, z, addend: noise(dtype, [tokens, columns], 106) },
    attrs: { dtype },
    dtype,
  }
  yield {
    op: 'combine_grad',
    name,
    inputs: { dy: noise(dtype, [tokens, columns], 107), places, z, weights },
    attrs: {},
    dtype,
  }
}

function* balances(dtype: Dtype, logits: Value, ids: Value | undefined, top_k: number): Generator<Case> {
  const [tokens = 0, experts = 0] = logits.shape
  const counted = tensor(
    'i32',
    [tokens],
    Array.from({ length: tokens }, (_, t) => Number(t % 3 !== 1)),
  )
  for (const some of [undefined, counted]) {
    const name = `${tokens}×${experts}, ${top_k}${some ? ', some count' : ''}`
    const inputs = { logits, ids, counted: some }
    yield { op: 'balance_sums', name, inputs, attrs: {}, dtype: 'f32' }
    const { sums } = outputsOf('balance_sums', inputs, {}, { sums: ['f32', [2, experts]] })
    const attrs = { top_k, coefficient: 0.25 }
    const scale = some && tensor('f32', [1], [tokens])
    yield { op: 'balance_loss', name, inputs: { sums, scale }, attrs, dtype: 'f32' }
    yield {
      op: 'balance_sums_grad',
      name,
      inputs: { dsums: noise('f32', [2, experts], 108), logits, counted: some },
      attrs: {},
      dtype,
    }
  }
}

export function* expertMatmuls(dtype: Dtype): Generator<Case> {
  const attrs = { alpha: 0.5, arithmetic: dtype, dtype }
  for (const { counts, unused } of SPLITS) {
    const ends = endsOf(counts)
    const used = counts.reduce((sum, count) => sum + count, 0)
    const [experts, rows] = [counts.length, used + unused]
    const rowsOf = (columns: number, seed: number) =>
      tensor(dtype, [rows, columns], noise(dtype, [rows, columns], seed).numbers.fill(NaN, used * columns))
    for (const [n, k, r] of [
      [50, 130, 3],
      [17, 600, 0],
      [1, 1, 1],
    ] as const) {
      const name = `${counts.join(' ')}${unused ? ` of ${rows}` : ''}: ${n}×${k}${r ? `+${r}` : ''}`
      const pair = (shape: number[]) =>
        r
          ? { a2: rowsOf(r, 112), b2: noise(dtype, [experts, ...shape], 113) }
          : { a2: undefined, b2: undefined }
      const addend = r ? rowsOf(n, 114) : undefined
      const a = rowsOf(k, 110)
      const bias = r ? noise(dtype, [experts, n], 115) : undefined
      yield {
        op: 'expert_matmul_nt',
        name,
        inputs: { a, b: noise(dtype, [experts, n, k], 111), ends, ...pair([n, r]), addend, bias },
        attrs,
        dtype,
      }
      yield {
        op: 'expert_matmul_nn',
        name,
        inputs: { a, b: noise(dtype, [experts, k, n], 111), ends, ...pair([r, n]), addend },
        attrs: { ...attrs, stream: 0 },
        dtype,
      }
      yield {
        op: 'expert_bias_grad',
        name,
        inputs: { dy: rowsOf(n, 118), ends },
        attrs: {},
        dtype,
      }
      for (const [m, wide] of [
        [k, n],
        [n, k],
      ] as const)
        yield {
          op: 'expert_matmul_tn',
          name: `${name} → ${m}×${wide}`,
          inputs: { a: rowsOf(m, 116), b: rowsOf(wide, 117), ends },
          attrs,
          dtype,
        }
    }
  }
}

/** Matrices of experts in every storage; f32 arithmetic leaves the error of the sums alone. */
export function* storedExperts(): Generator<Case> {
  const ends = endsOf([33, 0, 5])
  const stored = ['fp8_tiles', 'fp8_tensor', 'nvfp4', 'mxfp4', 'nf4', 'bf16', 'bf16_vnni'] as const
  for (const storage of stored)
    for (const arithmetic of ARITHMETICS) {
      const attrs = { alpha: 1, arithmetic, dtype: 'f32' }
      const a = noise(arithmetic, [38, 192], 120)
      // Products of bf16 with numbers that are none are rounded, which the oracle does not do.
      if (arithmetic === 'bf16' && storage !== 'bf16' && storage !== 'bf16_vnni' && storage !== 'mxfp4')
        continue
      yield {
        op: 'expert_matmul_nt',
        name: `${storage} in ${arithmetic}`,
        inputs: { a, b: noise(storage, [3, 51, 192], 121), ends },
        attrs,
        dtype: 'f32',
      }
      yield {
        op: 'expert_matmul_nn',
        name: `${storage} in ${arithmetic}`,
        inputs: { a, b: noise(storage, [3, 192, 64], 122), ends },
        attrs: { ...attrs, stream: 0 },
        dtype: 'f32',
      }
    }
}

/** Left sides on small grids: their numbers are exact in bf16, whatever an expert's own scale is. */
export function* roundedExperts(): Generator<Case> {
  const ends = endsOf([33, 0, 40])
  const random = tensor('i32', [3], [7, 11, 5])
  for (const [arithmetic, stored] of [
    ['fp8_hybrid', 'fp8_tensor'],
    ['nvfp4', 'nvfp4'],
  ] as const) {
    const attrs = { alpha: 0.5, arithmetic, dtype: 'f32' }
    const pair = (shape: number[]) => ({
      a2: noise('bf16', [73, 4], 131),
      b2: noise('bf16', [3, ...shape], 132),
    })
    yield {
      op: 'expert_matmul_nt',
      name: `${arithmetic} ${stored}`,
      inputs: {
        a: noise('bf16', [73, 112], 130, 3),
        b: noise(stored, [3, 48, 112], 133),
        ends,
        ...pair([48, 4]),
        a_amax: tensor('f32', [1], [2.5]),
      },
      attrs,
      dtype: 'f32',
    }
    yield {
      op: 'expert_matmul_nn',
      name: `${arithmetic} ${stored}`,
      inputs: {
        a: noise('bf16', [73, 48], 134, 1e-3),
        b: noise(stored, [3, 48, 112], 135),
        ends,
        ...pair([4, 112]),
        a_amax: tensor('f32', [1], [1e-3]),
      },
      attrs: { ...attrs, stream: 9 },
      dtype: 'f32',
    }
  }
  // Random numbers are drawn by rows of the whole left side: one expert shows it against the oracle, and two
  // against one.
  yield {
    op: 'expert_matmul_nn',
    name: 'nvfp4 at random',
    inputs: {
      a: noise('bf16', [73, 48], 134, 1e-3),
      b: noise('nvfp4', [1, 48, 112], 135),
      ends: endsOf([73]),
      a_amax: tensor('f32', [1], [1e-3]),
      random,
    },
    attrs: { alpha: 0.5, arithmetic: 'nvfp4', dtype: 'f32', stream: 9 },
    dtype: 'f32',
  }
}
