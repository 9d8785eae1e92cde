/** What every kernel is tried on: odd sizes, each dtype, with and without optional inputs. */
import type { Attrs, Dtype, OpName } from '@cairn-tune/ops'
import { adapters } from './adapter-cases.ts'
import { expertMatmuls, roundedExperts, routes, sigmoidRoutes, storedExperts } from './expert-cases.ts'
import { noise, runOracle, tensor, type Values } from './one-op.ts'
import { losses, tokenLogps } from './head-cases.ts'
import { preferences } from './preference-cases.ts'
import { loras, paged, range, samples } from './serving-cases.ts'

export type Case = { op: OpName; name: string; inputs: Values; attrs: Attrs; dtype: Dtype }

const floats = ['f32', 'bf16'] as const

function cosSin(positions: number, width: number) {
  return tensor(
    'f32',
    [positions, width],
    range(positions * width, i => {
      const angle = Math.floor(i / width) * 10 ** (-(i % (width / 2)) / width)
      return i % width < width / 2 ? Math.cos(angle) : Math.sin(angle)
    }),
  )
}

/** Adds what the forward op gives to the inputs of its gradient. */
function withForward(
  op: OpName,
  inputs: Values,
  attrs: Attrs,
  names: string[],
  dtypes: Readonly<Record<string, Dtype>>,
  shapes: Readonly<Record<string, number[]>>,
): Values {
  const outputs = runOracle(op, inputs, attrs)
  return {
    ...inputs,
    ...Object.fromEntries(
      names.map(name => [name, tensor(dtypes[name] ?? 'f32', shapes[name] ?? [], outputs[name] ?? [])]),
    ),
  }
}

function without(inputs: Values, ...names: string[]): Values {
  return Object.fromEntries(Object.entries(inputs).filter(([name]) => !names.includes(name)))
}

function* norms(dtype: Dtype): Generator<Case> {
  for (const [rows, columns] of [
    [1, 31],
    [33, 64],
    [5, 4099],
  ] as const) {
    const inputs = { x: noise(dtype, [rows, columns], 1, 3), weight: noise(dtype, [columns], 2) }
    const name = `${rows}×${columns}`
    yield { op: 'rms_norm', name, inputs, attrs: { eps: 1e-6 }, dtype }
    const grad = {
      dy: noise(dtype, [rows, columns], 3),
      ...withForward('rms_norm', inputs, { eps: 1e-6 }, ['rstd'], {}, { rstd: [rows] }),
    }
    yield { op: 'rms_norm_grad', name, inputs: grad, attrs: {}, dtype }
    const added = { ...grad, addend: noise(dtype, [rows, columns], 4) }
    yield { op: 'rms_norm_grad', name: `${name}, with an addend`, inputs: added, attrs: {}, dtype }
    yield { op: 'rms_norm_weight_grad', name, inputs: without(grad, 'weight'), attrs: {}, dtype }
    const offset = { weight_offset: 1 }
    yield { op: 'rms_norm', name: `${name}, 1 + w`, inputs, attrs: { eps: 1e-6, ...offset }, dtype }
    yield { op: 'rms_norm_grad', name: `${name}, 1 + w`, inputs: grad, attrs: offset, dtype }
  }
}

function* ropes(dtype: Dtype): Generator<Case> {
  for (const [heads, width, rotated, hasWeight] of [
    [3, 32, 32, true],
    [1, 6, 6, true],
    [2, 10, 10, false],
    [2, 22, 12, true],
    [2, 10, 4, false],
    [2, 64, 64, true],
    [3, 128, 128, true],
    [1, 128, 128, false],
  ] as const) {
    const rows = 33
    const part = rotated < width ? `, ${rotated} rotated` : ''
    const name = `${rows}×${heads}·${width}${part}${hasWeight ? '' : ' without weight'}`
    const inputs: Values = {
      x: noise(dtype, [rows, heads * width], 4),
      weight: hasWeight ? noise(dtype, [width], 5) : undefined,
      positions: tensor(
        'i32',
        [rows],
        range(rows, i => (i * 7) % 40),
      ),
      cos_sin: cosSin(40, rotated),
    }
    for (const interleaved of width < 128 ? [0, 1] : [0])
      yield* rotations(dtype, inputs, { heads, interleaved }, name)
  }
}

/** qk_norm_rope and its gradients on the same inputs. */
function* rotations(
  dtype: Dtype,
  inputs: Values,
  attrs: { heads: number; interleaved: number },
  of: string,
): Generator<Case> {
  const name = `${of}${attrs.interleaved ? ', neighbours' : ''}`
  const [rows = 0] = inputs.x?.shape ?? []
  const forward = { ...attrs, eps: 1e-6 }
  yield { op: 'qk_norm_rope', name, inputs, attrs: forward, dtype }
  if (inputs.weight)
    yield {
      op: 'qk_norm_rope',
      name: `${name}, 1 + w`,
      inputs,
      attrs: { ...forward, weight_offset: 1 },
      dtype,
    }
  const grad = {
    dy: noise(dtype, inputs.x?.shape ?? [], 6),
    ...withForward('qk_norm_rope', inputs, forward, ['rstd'], {}, { rstd: [rows, attrs.heads] }),
  }
  yield { op: 'qk_norm_rope_grad', name, inputs: grad, attrs, dtype }
  yield {
    op: 'qk_norm_rope_grad',
    name: `${name}, 1 + w`,
    inputs: grad,
    attrs: { ...attrs, weight_offset: 1 },
    dtype,
  }
  if (inputs.weight)
    yield { op: 'qk_norm_rope_weight_grad', name, inputs: without(grad, 'weight'), attrs, dtype }
}

function* matmuls(dtype: Dtype): Generator<Case> {
  const attrs = { alpha: 0.5, arithmetic: dtype, dtype }
  // Whole strips of eight rows and even k are read in place; 600 is several blocks of k, 4200 several
  // passes.
  for (const [m, n, k, r] of [
    [31, 33, 7, 0],
    [9, 50, 130, 3],
    [70, 17, 2100, 0],
    [1, 1, 1, 1],
    [300, 49, 65, 16],
    [72, 50, 600, 16],
    [16, 49, 4200, 4],
  ] as const) {
    const name = `${m}×${n}×${k}${r ? `+${r}` : ''}`
    const addend = r ? noise(dtype, [m, n], 9) : undefined
    const a2 = r ? noise(dtype, [m, r], 10) : undefined
    const b2 = (shape: number[]) => (r ? noise('f32', shape, 11) : undefined)
    const roundB2 = (shape: number[]) => (dtype === 'bf16' && r ? noise('bf16', shape, 11) : b2(shape))
    yield {
      op: 'matmul_nt',
      name,
      inputs: { a: noise(dtype, [m, k], 7), b: noise(dtype, [n, k], 8), a2, b2: roundB2([n, r]), addend },
      attrs,
      dtype,
    }
    yield {
      op: 'matmul_nt',
      name: `${name} with a bias`,
      inputs: {
        a: noise(dtype, [m, k], 7),
        b: noise(dtype, [n, k], 8),
        a2,
        b2: roundB2([n, r]),
        addend,
        bias: noise(r ? 'f32' : dtype, [n], 12),
      },
      attrs,
      dtype,
    }
    const second = (name: string) => ({ [`${name}_a2`]: a2, [`${name}_b2`]: roundB2([n, r]) })
    yield {
      op: 'matmul_nt_swiglu',
      name,
      inputs: {
        a: noise(dtype, [m, k], 7),
        gate_b: noise(dtype, [n, k], 8, 0.5),
        up_b: noise(dtype, [n, k], 9, 0.5),
        ...(r ? { ...second('gate'), ...second('up') } : {}),
      },
      attrs: { arithmetic: dtype, dtype },
      dtype,
    }
    yield { op: 'bias_grad', name: `${m}×${n}`, inputs: { dy: noise(dtype, [m, n], 13) }, attrs: {}, dtype }
    const nn = { a: noise(dtype, [m, k], 7), b: noise(dtype, [k, n], 8), a2, b2: roundB2([r, n]), addend }
    yield { op: 'matmul_nn', name, inputs: nn, attrs: { ...attrs, stream: 0 }, dtype }
    yield {
      op: 'matmul_nn_swiglu_grad',
      name,
      inputs: { ...nn, gate: noise(dtype, [m, n], 13, 8), up: noise(dtype, [m, n], 14) },
      attrs: { ...attrs, stream: 0 },
      dtype,
    }
    yield {
      op: 'matmul_tn',
      name,
      inputs: { a: noise(dtype, [k, m], 7), b: noise(dtype, [k, n], 8), addend },
      attrs,
      dtype,
    }
  }
}

/** Stored weights in f32 arithmetic: the only error left is that of the sums. */
function* storedMatmuls(): Generator<Case> {
  const attrs = { alpha: 1, arithmetic: 'f32', dtype: 'f32' }
  for (const stored of ['fp8_tiles', 'fp8_tensor', 'nvfp4', 'mxfp4', 'nf4', 'bf16', 'bf16_vnni'] as const) {
    yield {
      op: 'matmul_nt',
      name: `${stored} 33×51×192`,
      inputs: { a: noise('f32', [33, 192], 12), b: noise(stored, [51, 192], 13) },
      attrs,
      dtype: 'f32',
    }
    yield {
      op: 'matmul_nn',
      name: `${stored} 33×192×51`,
      inputs: { a: noise('f32', [33, 51], 14), b: noise(stored, [51, 192], 15) },
      attrs: { ...attrs, stream: 0 },
      dtype: 'f32',
    }
  }
}

/**
 * Weights interleaved as dot instructions read them: several blocks of rows, stretches of k and panels, and
 * rests of all.
 */
function* transposedMatmuls(): Generator<Case> {
  const attrs = { alpha: 0.5, arithmetic: 'bf16', dtype: 'bf16' }
  for (const [m, n, k] of [
    [300, 97, 194],
    [9, 50, 1034],
    [1, 1, 2],
    [64, 400, 32],
  ] as const) {
    yield {
      op: 'matmul_nt',
      name: `bf16_vnni ${m}×${n}×${k}`,
      inputs: {
        a: noise('bf16', [m, k], 12),
        b: noise('bf16_vnni', [n, k], 13),
        addend: noise('f32', [m, n], 14),
      },
      attrs,
      dtype: 'bf16',
    }
  }
  yield {
    op: 'embed',
    name: 'bf16_vnni',
    inputs: { table: noise('bf16_vnni', [37, 18], 15), ids: tensor('i32', [4], [36, 0, 15, 16]) },
    attrs: { dtype: 'bf16' },
    dtype: 'bf16',
  }
}

/**
 * Operands that lie on a small grid are exact in bf16, so these leave the error of f32 sums, whatever
 * rounding does.
 */
function* roundedMatmuls(): Generator<Case> {
  const random = tensor('i32', [3], [7, 11, 5])
  for (const [arithmetic, stored] of [
    ['fp8_hybrid', 'fp8_tensor'],
    ['nvfp4', 'nvfp4'],
    ['fp8_hybrid', 'nvfp4'],
  ] as const) {
    for (const [m, n, k, r] of [
      [33, 96, 112, 0],
      [9, 48, 1040, 3],
      [130, 64, 2080, 16],
      [5, 16, 16_992, 4],
    ] as const) {
      const addend = r ? noise('bf16', [m, n], 50) : undefined
      const a2 = r ? noise('bf16', [m, r], 51) : undefined
      const pair = (shape: number[]) => (r ? noise('bf16', shape, 52) : undefined)
      const attrs = { alpha: 0.5, arithmetic, dtype: 'f32' }
      const [a, da] = [noise('bf16', [m, k], 53, 3), noise('bf16', [m, n], 54, 1e-3)]
      const name = `${arithmetic} ${stored} ${m}×${n}×${k}${r ? `+${r}` : ''}`
      yield {
        op: 'matmul_nt',
        name,
        inputs: {
          a,
          b: noise(stored, [n, k], 55),
          a2,
          b2: pair([n, r]),
          addend,
          a_amax: tensor('f32', [1], [2.5]),
        },
        attrs,
        dtype: 'f32',
      }
      const back = {
        a: da,
        b: noise(stored, [n, k], 56),
        a2,
        b2: pair([r, k]),
        addend: r ? noise('f32', [m, k], 57) : undefined,
        a_amax: tensor('f32', [1], [1e-3]),
      }
      yield { op: 'matmul_nn', name, inputs: back, attrs: { ...attrs, stream: 9 }, dtype: 'f32' }
      if (arithmetic === 'nvfp4')
        yield {
          op: 'matmul_nn',
          name: `${name}, at random`,
          inputs: { ...back, random },
          attrs: { ...attrs, stream: 9 },
          dtype: 'f32',
        }
    }
  }
}

function* scales(dtype: Dtype): Generator<Case> {
  const history = tensor('f32', [5], [0.5, 3, 1, 4, 2])
  const amax = tensor('f32', [1], [0.75])
  yield { op: 'amax', name: 'long', inputs: { x: noise(dtype, [50_001], 60) }, attrs: {}, dtype: 'f32' }
  yield { op: 'delayed_amax', name: 'with a past', inputs: { history, amax }, attrs: {}, dtype: 'f32' }
  yield {
    op: 'delayed_amax',
    name: 'in the first step',
    inputs: { history: tensor('f32', [5], [9, 0, 0, 0, 0]), amax },
    attrs: {},
    dtype: 'f32',
  }
  yield { op: 'observe_amax', name: 'larger', inputs: { history, amax }, attrs: {}, dtype: 'f32' }
  yield {
    op: 'observe_amax',
    name: 'smaller',
    inputs: { history, amax: tensor('f32', [1], [0.25]) },
    attrs: {},
    dtype: 'f32',
  }
  yield { op: 'roll_amax', name: 'by one', inputs: { history }, attrs: {}, dtype: 'f32' }
  yield {
    op: 'roll_amax',
    name: 'not finite',
    inputs: { history: tensor('f32', [5], [Infinity, 3, 1, 4, 2]) },
    attrs: {},
    dtype: 'f32',
  }
}

/**
 * Several tiles of each width, and documents that end inside them, in tiles of one row and of more. Only for
 * tensor cores, because attention without them is slow on the emulated card.
 */
const LONG_ATTENTIONS = [
  [[0, 1, 200, 391], 4, 2, 128, 0, false],
  [[0, 130, 391], 2, 1, 64, 0, false],
  [[0, 60, 391], 2, 1, 96, 100, true],
] as const

function* attentions(dtype: Dtype): Generator<Case> {
  for (const [ends, heads, kvHeads, width, window, hasSinks, softcap = 0] of [
    [[0, 33], 2, 1, 16, 0, false],
    [[0, 1, 1, 131, 200], 4, 2, 20, 0, false],
    [[0, 290], 1, 1, 64, 0, false],
    [[0, 33], 2, 1, 16, 5, false],
    [[0, 1, 1, 131, 340], 4, 2, 20, 70, true],
    // Windows of 64·k − 1 and 64·k + 2 keys, with which the last query of a tile decides whether keys are
    // masked, and the first whether they are read.
    [[0, 7, 500], 2, 2, 16, 127, false],
    [[0, 7, 300], 2, 1, 16, 66, false],
    [[0, 150], 2, 1, 64, 0, true],
    [[0, 1, 1, 131, 200], 4, 2, 20, 0, false, 1.5],
    [[0, 7, 300], 2, 1, 64, 70, false, 3],
    ...(dtype === 'bf16' ? LONG_ATTENTIONS : []),
  ] as const) {
    const tokens = ends.at(-1) ?? 0
    const attrs = { heads, kv_heads: kvHeads, scale: width ** -0.5, window, softcap }
    const inputs: Values = {
      q: noise(dtype, [tokens, heads * width], 16, 2),
      k: noise(dtype, [tokens, kvHeads * width], 17, 2),
      v: noise(dtype, [tokens, kvHeads * width], 18),
      cu_seqlens: tensor('i32', [ends.length], ends),
      sinks: hasSinks ? noise(dtype, [heads], 15, 3) : undefined,
    }
    const name =
      `${ends.join('|')} ` +
      `${heads}/${kvHeads}·${width}${window ? ` window ${window}` : ''}${hasSinks ? ' sinks' : ''}` +
      (softcap ? ` capped at ${softcap}` : '')
    yield { op: 'attention', name, inputs, attrs, dtype }
    const forward = withForward(
      'attention',
      inputs,
      attrs,
      ['y', 'lse'],
      { y: dtype },
      { y: [tokens, heads * width], lse: [heads, tokens] },
    )
    yield {
      op: 'attention_grad',
      name,
      inputs: { dy: noise(dtype, [tokens, heads * width], 19), ...without(forward, 'sinks') },
      attrs,
      dtype,
    }
    if (hasSinks)
      yield {
        op: 'sinks_grad',
        name,
        inputs: {
          dy: noise(dtype, [tokens, heads * width], 19),
          ...without(forward, 'q', 'k', 'v', 'cu_seqlens'),
        },
        attrs: { heads },
        dtype,
      }
  }
}

function* elementwise(dtype: Dtype): Generator<Case> {
  const shape = [17, 241]
  const [a, b, c] = [noise(dtype, shape, 22, 4), noise(dtype, shape, 23, 4), noise(dtype, shape, 24)]
  yield { op: 'swiglu', name: 'odd', inputs: { gate: a, up: b }, attrs: {}, dtype }
  yield { op: 'swiglu_grad', name: 'odd', inputs: { dy: c, gate: a, up: b }, attrs: {}, dtype }
  yield { op: 'geglu', name: 'odd', inputs: { gate: a, up: b }, attrs: {}, dtype }
  yield { op: 'geglu_grad', name: 'odd', inputs: { dy: c, gate: a, up: b }, attrs: {}, dtype }
  const pairs = noise(dtype, [17, 2 * 241], 26, 8)
  const clamp = { alpha: 1.702, limit: 3 }
  yield { op: 'clamped_glu', name: 'odd', inputs: { x: pairs }, attrs: clamp, dtype }
  yield { op: 'clamped_glu_grad', name: 'odd', inputs: { dy: c, x: pairs }, attrs: clamp, dtype }
  for (const [from, count] of [
    [0, 241],
    [100, 141],
    [3, 1],
  ] as const) {
    const name = `${from} … ${from + count}`
    yield { op: 'columns', name, inputs: { x: a }, attrs: { from, count }, dtype }
    for (const addend of [undefined, a])
      yield {
        op: 'columns_grad',
        name: `${name}${addend ? ' with an addend' : ''}`,
        inputs: { dy: noise(dtype, [17, count], 27), addend },
        attrs: { from, count: 241 },
        dtype,
      }
  }
  yield { op: 'add', name: 'odd', inputs: { a, b }, attrs: {}, dtype }
  yield { op: 'softcap', name: 'odd', inputs: { x: a }, attrs: { cap: 0.7 }, dtype }
  yield { op: 'scale', name: 'odd', inputs: { x: a, factor: tensor('f32', [1], [0.75]) }, attrs: {}, dtype }
  yield { op: 'cast', name: 'to f32', inputs: { x: a }, attrs: { dtype: 'f32' }, dtype }
  yield {
    op: 'cast',
    name: 'to bf16',
    inputs: { x: noise('f32', shape, 25) },
    attrs: { dtype: 'bf16' },
    dtype: 'bf16',
  }
  yield { op: 'accumulate', name: 'odd', inputs: { total: noise('f32', shape, 26), x: a }, attrs: {}, dtype }
  yield { op: 'sum_squares', name: 'long', inputs: { x: noise(dtype, [40_001], 27) }, attrs: {}, dtype }
  // Parts of several spans, of none and of one number, with gaps between them.
  const ends = [5, 5, 7, 16_391, 16_400, 33_000, 33_001, 33_002, 39_990, 40_001]
  yield {
    op: 'sum_squares',
    name: 'of parts',
    inputs: { x: noise(dtype, [40_001], 27), parts: tensor('i32', [5, 2], ends) },
    attrs: {},
    dtype,
  }
  // More parts than the block that adds them has threads.
  yield {
    op: 'sum_squares',
    name: 'of many parts',
    inputs: {
      x: noise(dtype, [2000], 27),
      parts: tensor(
        'i32',
        [600, 2],
        range(1200, i => 3 * (i >> 1) + 2 * (i % 2)),
      ),
    },
    attrs: {},
    dtype,
  }
  const ids = tensor(
    'i32',
    [33],
    range(33, t => (t * 5) % 9),
  )
  yield {
    op: 'embed',
    name: 'odd',
    inputs: { table: noise(dtype, [9, 131], 28), ids },
    attrs: { dtype },
    dtype,
  }
  yield {
    op: 'embed_grad',
    name: 'odd',
    inputs: { dy: noise(dtype, [33, 131], 29), ids },
    attrs: { vocab: 9 },
    dtype,
  }
  yield {
    op: 'embed',
    name: 'scaled',
    inputs: { table: noise(dtype, [9, 131], 28), ids },
    attrs: { dtype, scale: 5.65625 },
    dtype,
  }
  yield {
    op: 'embed_grad',
    name: 'scaled',
    inputs: { dy: noise(dtype, [33, 131], 29), ids },
    attrs: { vocab: 9, scale: 5.65625 },
    dtype,
  }
}

function* optimizer(): Generator<Case> {
  const shape = [20_003]
  const inputs = {
    p: noise('f32', shape, 30),
    g: noise('f32', shape, 31),
    m: noise('f32', shape, 32, 0.1),
    v: tensor('f32', shape, noise('f32', shape, 33).numbers.map(Math.abs)),
    factor: tensor('f32', [1], [0.3]),
    schedule: tensor('f32', [2], [2e-3, 7]),
  }
  yield {
    op: 'adamw',
    name: 'step 7',
    inputs,
    attrs: { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 },
    dtype: 'f32',
  }
  const sums = { sum_squares: tensor('f32', [1], [90]), count: tensor('f32', [1], [3]) }
  yield { op: 'clip_factor', name: 'above the limit', inputs: sums, attrs: { max_norm: 1 }, dtype: 'f32' }
  yield { op: 'clip_factor', name: 'without a limit', inputs: sums, attrs: { max_norm: 0 }, dtype: 'f32' }
}

export const CASES: Case[] = [
  ...floats.flatMap(dtype => [
    ...norms(dtype),
    ...ropes(dtype),
    ...matmuls(dtype),
    ...attentions(dtype),
    ...losses(dtype),
    ...elementwise(dtype),
    ...paged(dtype),
    ...loras(dtype),
    ...adapters(dtype),
    ...scales(dtype),
    ...routes(dtype),
    ...sigmoidRoutes(dtype),
    ...expertMatmuls(dtype),
    ...tokenLogps(dtype),
  ]),
  ...storedMatmuls(),
  ...transposedMatmuls(),
  ...roundedMatmuls(),
  ...storedExperts(),
  ...roundedExperts(),
  ...optimizer(),
  ...preferences(),
  ...samples(),
]
