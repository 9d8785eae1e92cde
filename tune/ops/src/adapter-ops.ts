/**
 * Ops of the table that adapters need besides products: dropout of their input, and a magnitude for each row
 * of an adapted weight (DoRA, arXiv:2402.09353).
 */
import { op } from './op-spec.ts'

export const ADAPTER_OPS = {
  dropout: op({
    doc:
      'y[i] = x[i] / (1 − rate), or 0 if the uniform random number of element i is below rate. ' +
      '`random` is the seed, low word first, and the step; `stream` is the op of the Philox counter',
    inputs: { x: 'float (...)', random: 'i32 (3)' },
    attrs: { rate: 'f32', stream: 'i32' },
    outputs: { y: '=x (...)' },
  }),
  row_norms: op({
    doc: 'y[n] = norm of row n of weight, plus alpha · b·a if given; it has no gradient',
    inputs: { weight: 'weight (N, K)', 'a?': 'float (R, K)', 'b?': 'float (N, R)' },
    attrs: { alpha: 'f32' },
    outputs: { y: 'f32 (N)' },
  }),
  scale_columns: op({
    doc: 'y = x · weight / norms + bias + addend per column, rounded once at the end',
    inputs: {
      x: 'float (T, N)',
      weight: 'f32 (N)',
      norms: 'f32 (N)',
      'bias?': 'float (N)',
      'addend?': 'float (T, N)',
    },
    attrs: {},
    outputs: { y: '=x (T, N)' },
  }),
  scale_columns_weight_grad: op({
    doc: 'dweight = sum over t of dy · x / norms, in order of t',
    inputs: { dy: 'float (T, N)', x: 'float (T, N)', norms: 'f32 (N)' },
    attrs: {},
    outputs: { dweight: 'f32 (N)' },
  }),
  adapter_columns: op({
    doc:
      'y[t] = (x[t] + delta[t]) · factors[l] + bias + addend[t] for the adapter l = adapters[t]. ' +
      'If l is −1, y[t] = (x[t] + bias) + (delta[t] + addend[t]), which equals a matmul that adds ' +
      'delta before rounding',
    inputs: {
      x: 'f32 (T, N)',
      delta: 'f32 (T, N)',
      factors: 'f32 (L, N)',
      adapters: 'i32 (T)',
      'bias?': 'float (N)',
      'addend?': 'float (T, N)',
    },
    attrs: { dtype: 'dtype' },
    outputs: { y: '@dtype (T, N)' },
  }),
} as const
