/**
 * The contract of Cairn Tune: every tensor op, once. Native header, docs, recorder, checks, oracle and
 * gradients follow this table.
 *
 * An input or output reads `<dtype> (<dims>)`. Dtypes: `float` is f32 or bf16, `weight` is any stored weight,
 * `=x` is the dtype of input x, `@dtype` is named by that attribute. Dims are letters that must agree across
 * one op; `(...)` is any shape, the same in every use; `H*D` is a product whose H is an attribute. A key that
 * ends in `?` is optional; an absent attribute is 0. Outputs named in `inPlace` are written over that input.
 */
import { ADAPTER_OPS } from './adapter-ops.ts'
import type { Dtype } from './dtypes.ts'
import { EXPERT_OPS } from './expert-ops.ts'
import { op, type AttrKind, type OpSpec } from './op-spec.ts'
import { PREFERENCE_OPS } from './preference-ops.ts'

/** Number formats in which a matmul multiplies. It always accumulates in f32. */
export const ARITHMETICS = ['f32', 'bf16'] as const
export type Arithmetic = (typeof ARITHMETICS)[number]

/**
 * Arithmetics of a linear layer's own matmul. fp8_hybrid rounds `a` to E4M3 in the forward pass and, in
 * matmul_nn, to E5M2 in the backward pass; nvfp4 rounds to E2M1 in blocks of 16 along k with E4M3 scales.
 * Both need `a_amax`, read `b` as it is stored, and multiply and add as bf16 does; a2·b2 stays bf16.
 */
export const LINEAR_ARITHMETICS = [...ARITHMETICS, 'fp8_hybrid', 'nvfp4'] as const
export type LinearArithmetic = (typeof LINEAR_ARITHMETICS)[number]

/** Whether an arithmetic rounds `a` by a scale of the whole tensor. */
export const isScaled = (arithmetic: LinearArithmetic): boolean =>
  !ARITHMETICS.some(plain => plain === arithmetic)

const NN_INPUTS = {
  a: 'float (M, K)',
  b: 'weight (K, N)',
  'a2?': 'float (M, R)',
  'b2?': 'float (R, N)',
  'addend?': 'float (M, N)',
  'a_amax?': 'f32 (1)',
  'random?': 'i32 (3)',
} as const
const NN_ATTRS = { alpha: 'f32', arithmetic: 'linear_arithmetic', stream: 'i32', dtype: 'dtype' } as const

export const OPS = {
  embed: op({
    doc: 'y[t] = table[ids[t]], times scale if scale is not 0',
    inputs: { table: 'weight (V, C)', ids: 'i32 (T)' },
    attrs: { dtype: 'dtype', 'scale?': 'f32' },
    outputs: { y: '@dtype (T, C)' },
  }),
  embed_grad: op({
    doc: 'dtable[v] = sum of dy[t] over the t with ids[t] = v, in order of t, times scale if scale is not 0',
    inputs: { dy: 'float (T, C)', ids: 'i32 (T)' },
    attrs: { vocab: 'i32', 'scale?': 'f32' },
    sizes: { V: 'vocab' },
    outputs: { dtable: 'f32 (V, C)' },
  }),
  rms_norm: op({
    doc: 'y = x · rstd · (weight_offset + weight) with rstd = 1 / sqrt(mean(x²) + eps) along C, in f32',
    inputs: { x: 'float (T, C)', weight: 'float (C)' },
    attrs: { eps: 'f32', 'weight_offset?': 'f32' },
    outputs: { y: '=x (T, C)', rstd: 'f32 (T)' },
  }),
  rms_norm_grad: op({
    doc:
      'dx = rstd · (dy·w − x · rstd² · mean(dy·w·x)) with w = weight_offset + weight, ' +
      'rounded to its dtype, plus addend, rounded again',
    inputs: {
      dy: 'float (T, C)',
      x: 'float (T, C)',
      weight: 'float (C)',
      rstd: 'f32 (T)',
      'addend?': '=x (T, C)',
    },
    attrs: { 'weight_offset?': 'f32' },
    outputs: { dx: '=x (T, C)' },
  }),
  rms_norm_weight_grad: op({
    doc: 'dweight = sum over t of dy · x · rstd',
    inputs: { dy: 'float (T, C)', x: 'float (T, C)', rstd: 'f32 (T)' },
    attrs: {},
    outputs: { dweight: 'f32 (C)' },
  }),
  matmul_nt: op({
    doc:
      'y = alpha · (a·bᵀ + a2·b2ᵀ) + bias + addend; sums in f32, rounded once at the end. ' +
      'The second product is the LoRA adapter. fp8_hybrid and nvfp4 round a to nearest, scaled by ' +
      'a_amax, the largest expected |a|; only the gradient of this op uses `random`',
    inputs: {
      a: 'float (M, K)',
      b: 'weight (N, K)',
      'a2?': 'float (M, R)',
      'b2?': 'float (N, R)',
      'addend?': 'float (M, N)',
      'a_amax?': 'f32 (1)',
      'random?': 'i32 (3)',
      'bias?': 'float (N)',
    },
    attrs: { alpha: 'f32', arithmetic: 'linear_arithmetic', dtype: 'dtype' },
    outputs: { y: '@dtype (M, N)' },
  }),
  matmul_nt_swiglu: op({
    doc:
      'gate = a·gate_bᵀ + gate_a2·gate_b2ᵀ and up likewise, each as matmul_nt; y = swiglu of both, in one op: ' +
      'the same results',
    inputs: {
      a: 'float (M, K)',
      gate_b: 'weight (N, K)',
      'gate_a2?': 'float (M, R)',
      'gate_b2?': 'float (N, R)',
      up_b: 'weight (N, K)',
      'up_a2?': 'float (M, S)',
      'up_b2?': 'float (N, S)',
    },
    attrs: { arithmetic: 'arithmetic', dtype: 'dtype' },
    outputs: { gate: '@dtype (M, N)', up: '@dtype (M, N)', y: '@dtype (M, N)' },
  }),
  bias_grad: op({
    doc: 'dbias = sum of dy over its rows, in row order',
    inputs: { dy: 'float (M, N)' },
    attrs: {},
    outputs: { dbias: 'f32 (N)' },
  }),
  matmul_nn: op({
    doc:
      'y = alpha · (a·b + a2·b2) + addend; sums in f32, rounded once at the end. ' +
      'fp8_hybrid and nvfp4 round a, a gradient, scaled by a_amax. ' +
      'If `random` is given, nvfp4 rounds stochastically: ' +
      '`random` is the seed, low word first, and the step; `stream` is the op of the Philox counter; ' +
      'elements of a are numbered row by row',
    inputs: NN_INPUTS,
    attrs: NN_ATTRS,
    outputs: { y: '@dtype (M, N)' },
  }),
  matmul_nn_swiglu_grad: op({
    doc:
      'swiglu_grad with dy = matmul_nn, in one op: the same inputs and attributes, the same results. ' +
      '`dtype` must be that of gate',
    inputs: { ...NN_INPUTS, gate: 'float (M, N)', up: '=gate (M, N)' },
    attrs: NN_ATTRS,
    outputs: { dgate: '=gate (M, N)', dup: '=gate (M, N)' },
  }),
  matmul_tn: op({
    doc: 'y = alpha · aᵀ·b + addend; sums in f32, rounded once at the end',
    inputs: { a: 'float (K, M)', b: 'float (K, N)', 'addend?': 'float (M, N)' },
    attrs: { alpha: 'f32', arithmetic: 'arithmetic', dtype: 'dtype' },
    outputs: { y: '@dtype (M, N)' },
    overwrites: { y: 'addend' },
  }),
  columns: op({
    doc: 'y = `count` columns of x, starting at `from`',
    inputs: { x: 'float (T, K)' },
    attrs: { from: 'i32', count: 'i32' },
    sizes: { N: 'count' },
    outputs: { y: '=x (T, N)' },
  }),
  columns_grad: op({
    doc: 'dx = dy in the columns starting at `from`, 0 in the others, plus addend',
    inputs: { dy: 'float (T, N)', 'addend?': '=dy (T, K)' },
    attrs: { from: 'i32', count: 'i32' },
    sizes: { K: 'count' },
    outputs: { dx: '=dy (T, K)' },
  }),
  qk_norm_rope: op({
    doc:
      'each head of x is normalised as in rms_norm (only if weight is given); ' +
      'then the halves (p, q) of its first R numbers become (p·cos − q·sin, p·sin + q·cos); ' +
      'if `interleaved` is not 0, p has the even ones of these numbers and q the odd ones. ' +
      'Each row of cos_sin has the R/2 cosines, then the R/2 sines, of one position',
    inputs: { x: 'float (T, H*D)', 'weight?': 'float (D)', positions: 'i32 (T)', cos_sin: 'f32 (P, R)' },
    attrs: { heads: 'i32', eps: 'f32', 'weight_offset?': 'f32', 'interleaved?': 'i32' },
    sizes: { H: 'heads' },
    outputs: { y: '=x (T, H*D)', rstd: 'f32 (T, H)' },
  }),
  qk_norm_rope_grad: op({
    doc: 'dy rotated back, then rms_norm_grad per head',
    inputs: {
      dy: 'float (T, H*D)',
      x: 'float (T, H*D)',
      'weight?': 'float (D)',
      positions: 'i32 (T)',
      cos_sin: 'f32 (P, R)',
      rstd: 'f32 (T, H)',
    },
    attrs: { heads: 'i32', 'weight_offset?': 'f32', 'interleaved?': 'i32' },
    sizes: { H: 'heads' },
    outputs: { dx: '=x (T, H*D)' },
  }),
  qk_norm_rope_weight_grad: op({
    doc: 'sum over t and heads of (gradient before the rotation) · x · rstd',
    inputs: {
      dy: 'float (T, H*D)',
      x: 'float (T, H*D)',
      positions: 'i32 (T)',
      cos_sin: 'f32 (P, R)',
      rstd: 'f32 (T, H)',
    },
    attrs: { heads: 'i32', 'interleaved?': 'i32' },
    sizes: { H: 'heads' },
    outputs: { dweight: 'f32 (D)' },
  }),
  swiglu: op({
    doc: 'y = gate · sigmoid(gate) · up',
    inputs: { gate: 'float (T, F)', up: 'float (T, F)' },
    attrs: {},
    outputs: { y: '=gate (T, F)' },
  }),
  swiglu_grad: op({
    doc: 'dgate = dy·up·σ(gate)·(1 + gate·(1 − σ(gate))), dup = dy·gate·σ(gate)',
    inputs: { dy: 'float (T, F)', gate: 'float (T, F)', up: 'float (T, F)' },
    attrs: {},
    outputs: { dgate: '=gate (T, F)', dup: '=up (T, F)' },
  }),
  geglu: op({
    doc: 'y = gelu(gate) · up with gelu(g) = g · (1 + tanh(√(2/π) · (g + 0.044715·g³))) / 2',
    inputs: { gate: 'float (T, F)', up: 'float (T, F)' },
    attrs: {},
    outputs: { y: '=gate (T, F)' },
  }),
  geglu_grad: op({
    doc: 'dgate = dy·up·gelu′(gate), dup = dy·gelu(gate)',
    inputs: { dy: 'float (T, F)', gate: 'float (T, F)', up: 'float (T, F)' },
    attrs: {},
    outputs: { dgate: '=gate (T, F)', dup: '=up (T, F)' },
  }),
  clamped_glu: op({
    doc:
      'even columns of x are gate, odd columns up: ' +
      'y = (1 + u) · g · σ(alpha·g) with g = min(gate, limit), u = min(max(up, −limit), limit)',
    inputs: { x: 'float (T, 2*F)' },
    attrs: { alpha: 'f32', limit: 'f32' },
    outputs: { y: '=x (T, F)' },
  }),
  clamped_glu_grad: op({
    doc:
      'dgate = dy·(1 + u)·σ(alpha·g)·(1 + alpha·g·(1 − σ(alpha·g))), dup = dy·g·σ(alpha·g), each 0 ' +
      'where its input was clamped; the columns of dx alternate like those of x',
    inputs: { dy: 'float (T, F)', x: '=dy (T, 2*F)' },
    attrs: { alpha: 'f32', limit: 'f32' },
    outputs: { dx: '=x (T, 2*F)' },
  }),
  attention: op({
    doc:
      'causal attention within each document [cu_seqlens[i], cu_seqlens[i+1]). ' +
      'If `window` is not 0, a query attends only to the last `window` keys, including its own. ' +
      'Query head h reads key head h·G/H. If `softcap` is not 0, a score z becomes ' +
      'softcap·tanh(z / softcap). The softmax is f32; ' +
      'sinks[h], if given, is an additional score without a value; lse is its log-sum-exp',
    inputs: {
      q: 'float (T, H*D)',
      k: '=q (T, G*D)',
      v: '=q (T, G*D)',
      cu_seqlens: 'i32 (S)',
      'sinks?': 'float (H)',
    },
    attrs: { heads: 'i32', kv_heads: 'i32', scale: 'f32', 'window?': 'i32', 'softcap?': 'f32' },
    sizes: { H: 'heads', G: 'kv_heads' },
    outputs: { y: '=q (T, H*D)', lse: 'f32 (H, T)' },
  }),
  attention_grad: op({
    doc:
      'p = exp(z − lse) for the scores z; dv = pᵀ·dy; ds = p·(dy·vᵀ − sum(dy·y))·scale, times ' +
      '1 − (z / softcap)² with a softcap; dq = ds·k; dk = dsᵀ·q',
    inputs: {
      dy: '=q (T, H*D)',
      q: 'float (T, H*D)',
      k: '=q (T, G*D)',
      v: '=q (T, G*D)',
      y: '=q (T, H*D)',
      lse: 'f32 (H, T)',
      cu_seqlens: 'i32 (S)',
    },
    attrs: { heads: 'i32', kv_heads: 'i32', scale: 'f32', 'window?': 'i32', 'softcap?': 'f32' },
    sizes: { H: 'heads', G: 'kv_heads' },
    outputs: { dq: '=q (T, H*D)', dk: '=k (T, G*D)', dv: '=v (T, G*D)' },
  }),
  sinks_grad: op({
    doc: 'dsinks[h] = −sum over t of exp(sinks[h] − lse[h, t]) · (dy·y of the head)',
    inputs: {
      dy: 'float (T, H*D)',
      y: '=dy (T, H*D)',
      lse: 'f32 (H, T)',
      sinks: 'float (H)',
    },
    attrs: { heads: 'i32' },
    sizes: { H: 'heads' },
    outputs: { dsinks: 'f32 (H)' },
  }),
  ...EXPERT_OPS,
  ...ADAPTER_OPS,
  head_loss: op({
    doc:
      'losses[t] = logsumexp(z) − z[targets[t]] with z = x[t]·weightᵀ, times scale if scale is not 0, ' +
      'then softcap·tanh(z / softcap) if softcap is not 0; ' +
      'losses[t] is 0 where targets[t] is −100; ' +
      'loss is their sum; dx is the gradient of loss. ' +
      'At most `chunk` rows of z are in memory at a time',
    inputs: { x: 'float (T, C)', weight: 'float (V, C)', targets: 'i32 (T)' },
    attrs: { arithmetic: 'arithmetic', chunk: 'i32', 'scale?': 'f32', 'softcap?': 'f32' },
    outputs: { loss: 'f32 (1)', losses: 'f32 (T)', dx: '=x (T, C)' },
  }),
  head_loss_trained: op({
    doc: 'head_loss plus the gradient of weight',
    inputs: { x: 'float (T, C)', weight: 'float (V, C)', targets: 'i32 (T)' },
    attrs: { arithmetic: 'arithmetic', chunk: 'i32', 'scale?': 'f32', 'softcap?': 'f32' },
    outputs: { loss: 'f32 (1)', losses: 'f32 (T)', dx: '=x (T, C)', dweight: 'f32 (V, C)' },
  }),
  ...PREFERENCE_OPS,
  add: op({
    doc: 'y = a + b',
    inputs: { a: 'float (...)', b: 'float (...)' },
    attrs: {},
    outputs: { y: '=a (...)' },
  }),
  softcap: op({
    doc: 'y = cap · tanh(x / cap)',
    inputs: { x: 'float (...)' },
    attrs: { cap: 'f32' },
    outputs: { y: '=x (...)' },
  }),
  scale: op({
    doc: 'y = factor · x',
    inputs: { x: 'float (...)', factor: 'f32 (1)' },
    attrs: {},
    outputs: { y: '=x (...)' },
  }),
  cast: op({
    doc: 'y = x in another dtype, rounded to nearest, ties to even',
    inputs: { x: 'float (...)' },
    attrs: { dtype: 'dtype' },
    outputs: { y: '@dtype (...)' },
  }),
  quantize: op({
    doc: 'y = x in the blocks of a storage dtype, rounded to nearest',
    inputs: { x: 'float (N, K)' },
    attrs: { dtype: 'storage' },
    outputs: { y: '@dtype (N, K)' },
  }),
  dequantize: op({
    doc: 'y = x, decoded',
    inputs: { x: 'weight (N, K)' },
    attrs: { dtype: 'dtype' },
    outputs: { y: '@dtype (N, K)' },
  }),
  amax: op({
    doc: 'y = largest |x|',
    inputs: { x: 'float (...)' },
    attrs: {},
    outputs: { y: 'f32 (1)' },
  }),
  delayed_amax: op({
    doc:
      'y = the largest number of history except the first, which belongs to the current step; ' +
      'amax if all of those are 0, as in the first step',
    inputs: { history: 'f32 (S)', amax: 'f32 (1)' },
    attrs: {},
    outputs: { y: 'f32 (1)' },
  }),
  observe_amax: op({
    doc: 'the first number of history becomes the larger of itself and amax, in place',
    inputs: { history: 'f32 (S)', amax: 'f32 (1)' },
    attrs: {},
    outputs: { y: 'f32 (S)' },
    inPlace: { y: 'history' },
  }),
  roll_amax: op({
    doc:
      'history is shifted by one position, in place: ' +
      'its last number is dropped and its first becomes 0. A non-finite first number is replaced by 0',
    inputs: { history: 'f32 (S)' },
    attrs: {},
    outputs: { y: 'f32 (S)' },
    inPlace: { y: 'history' },
  }),
  accumulate: op({
    doc: 'total = total + x, in place',
    inputs: { total: 'f32 (...)', x: 'float (...)' },
    attrs: {},
    outputs: { y: 'f32 (...)' },
    inPlace: { y: 'total' },
  }),
  sum_squares: op({
    doc:
      'y = sum of x² in blocks of fixed size, so that the result does not depend on the number of threads. ' +
      'With parts, the sum of the results for elements [parts[p][0], parts[p][1]) of x in f32, in order of p; ' +
      'parts ascend and do not overlap',
    inputs: { x: 'float (...)', 'parts?': 'i32 (P, 2)' },
    attrs: {},
    outputs: { y: 'f32 (1)' },
  }),
  clip_factor: op({
    doc:
      'norm = sqrt(sum_squares) / count; factor = min(1, max_norm / norm) / count; ' +
      'max_norm 0 turns clipping off',
    inputs: { sum_squares: 'f32 (1)', count: 'f32 (1)' },
    attrs: { max_norm: 'f32' },
    outputs: { factor: 'f32 (1)', norm: 'f32 (1)' },
  }),
  adamw: op({
    doc:
      'AdamW with decoupled weight decay on factor·g, in place; ' +
      'schedule is (learning rate, step, starting at 1)',
    inputs: {
      p: 'f32 (...)',
      g: 'float (...)',
      m: 'f32 (...)',
      v: 'f32 (...)',
      factor: 'f32 (1)',
      schedule: 'f32 (2)',
    },
    attrs: { beta1: 'f32', beta2: 'f32', eps: 'f32', weight_decay: 'f32' },
    outputs: { p_next: 'f32 (...)', m_next: 'f32 (...)', v_next: 'f32 (...)' },
    inPlace: { p_next: 'p', m_next: 'm', v_next: 'v' },
  }),
  adamw_8bit: op({
    doc:
      'adamw with both moments stored in 8 bits: they are decoded, updated and used in f32, then ' +
      'encoded again, each block scaled by its largest magnitude',
    inputs: {
      p: 'f32 (...)',
      g: 'float (...)',
      m: 'dynamic8 (...)',
      v: 'dynamic8_unsigned (...)',
      factor: 'f32 (1)',
      schedule: 'f32 (2)',
    },
    attrs: { beta1: 'f32', beta2: 'f32', eps: 'f32', weight_decay: 'f32' },
    outputs: { p_next: 'f32 (...)', m_next: 'dynamic8 (...)', v_next: 'dynamic8_unsigned (...)' },
    inPlace: { p_next: 'p', m_next: 'm', v_next: 'v' },
  }),
  paged_write: op({
    doc:
      'row slots[t] of the caches becomes row t of k and v, in place; index −1 writes nothing. ' +
      'With c numbers in 4 bytes, number i of row j of a block is at (⌊i / c⌋·block + j)·c + i mod c ' +
      'in a block of keys, and at (⌊j / c⌋·W + i)·c + j mod c in a block of values',
    inputs: {
      k_cache: '@dtype (P, W)',
      v_cache: '@dtype (P, W)',
      k: 'float (T, W)',
      v: '=k (T, W)',
      slots: 'i32 (T)',
    },
    attrs: { block: 'i32', dtype: 'dtype' },
    outputs: { keys: '@dtype (P, W)', values: '@dtype (P, W)' },
    inPlace: { keys: 'k_cache', values: 'v_cache' },
  }),
  paged_attention: op({
    doc:
      'causal attention of new rows over cached keys, with window, softcap and sinks as in attention. ' +
      'spans[s] is (first row, rows, keys cached before them); ' +
      'key j of span s is cache row tables[s][j / block]·block + j mod block, in the layout of ' +
      'paged_write. Rows outside every span are 0. A row does not depend on other rows',
    inputs: {
      q: '@dtype (T, H*D)',
      k: '@dtype (P, G*D)',
      v: '@dtype (P, G*D)',
      tables: 'i32 (S, B)',
      spans: 'i32 (S, 3)',
      'sinks?': 'float (H)',
    },
    attrs: {
      heads: 'i32',
      kv_heads: 'i32',
      scale: 'f32',
      block: 'i32',
      dtype: 'dtype',
      'window?': 'i32',
      'softcap?': 'f32',
    },
    sizes: { H: 'heads', G: 'kv_heads' },
    outputs: { y: '@dtype (T, H*D)' },
  }),
  lora_delta: op({
    doc:
      'y[t] = z·b[l] + addend[t] with z = scale·(x[t]·a[l]ᵀ) for the adapter l = adapters[t] (−1: ' +
      'none), whose (rank, scale) is in ranks. z is rounded to the arithmetic, y is not',
    inputs: {
      x: 'float (T, K)',
      a: 'float (L, R, K)',
      b: 'float (L, R, N)',
      adapters: 'i32 (T)',
      ranks: 'f32 (L, 2)',
      'addend?': 'float (T, N)',
    },
    attrs: { arithmetic: 'arithmetic' },
    outputs: { y: 'f32 (T, N)' },
  }),
  gather_rows: op({
    doc: 'y[i] = x[rows[i]], or zeros if rows[i] is −1',
    inputs: { x: 'float (T, C)', rows: 'i32 (M)' },
    attrs: {},
    outputs: { y: '=x (M, C)' },
  }),
  sample: op({
    doc:
      'token[i] = forced[i], or if that is −1 a token sampled from logits[i] after its edits. ' +
      'choice[i] is (temperature, top_p, min_p); temperature 0 picks the largest logit. ' +
      'draw[i] is (top_k or 0, two words of a seed, a counter). ' +
      'An edit (row, token) has two numbers: a positive logit is divided by the first, any other is ' +
      'multiplied by it, then the second is added; row −1 means no edit. ' +
      'Only tokens whose bit is set in mask[masked[i]] can be drawn; −1 means no mask. ' +
      'logprob and the `top` most likely tokens refer to the logits before edits',
    inputs: {
      logits: 'f32 (M, V)',
      forced: 'i32 (M)',
      choice: 'f32 (M, 3)',
      draw: 'i32 (M, 4)',
      edits: 'i32 (E, 2)',
      edit_by: 'f32 (E, 2)',
      masked: 'i32 (M)',
      mask: 'i32 (G, W)',
    },
    attrs: { top: 'i32' },
    sizes: { K: 'top' },
    outputs: { token: 'i32 (M)', logprob: 'f32 (M)', top_tokens: 'i32 (M, K)', top_logprobs: 'f32 (M, K)' },
  }),
} as const satisfies Record<string, OpSpec>

export type OpName = keyof typeof OPS
export const OP_NAMES = Object.keys(OPS) as OpName[]

type Required<K> = K extends `${string}?` ? never : K
type Optional<K> = K extends `${infer Name}?` ? Name : never

/** One `V` for each input of an op, by name. */
export type InputsOf<N extends OpName, V> = {
  [K in Required<keyof (typeof OPS)[N]['inputs'] & string>]: V
} & {
  [K in Optional<keyof (typeof OPS)[N]['inputs'] & string>]?: V | undefined
}
/** One `V` for each output of an op, by name. */
export type OutputsOf<N extends OpName, V> = { [K in keyof (typeof OPS)[N]['outputs'] & string]: V }
type AttrValue<K> = K extends 'dtype' | 'storage'
  ? Dtype
  : K extends 'arithmetic'
    ? Arithmetic
    : K extends 'linear_arithmetic'
      ? LinearArithmetic
      : number
type AttrsIn<N extends OpName> = (typeof OPS)[N]['attrs']
export type AttrsOf<N extends OpName> = {
  [K in Required<keyof AttrsIn<N> & string>]: AttrValue<AttrsIn<N>[K & keyof AttrsIn<N>]>
} & {
  [K in Optional<keyof AttrsIn<N> & string>]?: number | undefined
}
export type Attrs = Readonly<Record<string, number | string | undefined>>

/** Name and optionality of an op's inputs, in native order. */
export function inputsOf(name: OpName): { name: string; isOptional: boolean; type: string }[] {
  return Object.entries(OPS[name].inputs).map(([key, type]) => ({
    name: key.replace(/\?$/, ''),
    isOptional: key.endsWith('?'),
    type,
  }))
}

/** Name, kind and optionality of an op's attributes, in native order. */
export function attrsOf(name: OpName): { name: string; isOptional: boolean; kind: AttrKind }[] {
  return Object.entries(OPS[name].attrs).map(([key, kind]) => ({
    name: key.replace(/\?$/, ''),
    isOptional: key.endsWith('?'),
    kind,
  }))
}

export const specOf = (name: OpName): OpSpec => OPS[name]
