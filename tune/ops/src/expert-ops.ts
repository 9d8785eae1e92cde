/**
 * Ops of the table for a mixture of experts: T tokens with K choices each among E experts, and rows grouped
 * by expert.
 */
import { op } from './op-spec.ts'

export const EXPERT_OPS = {
  route: op({
    doc:
      'ids are the `top_k` largest logits of each row, largest first, ties to the lower id. ' +
      'weights are the softmax of these logits alone, or, if softmax_over_all is not 0, their ' +
      'probabilities in the softmax of all logits, or, if sigmoid is not 0, the sigmoid of each',
    inputs: { logits: 'float (T, E)' },
    attrs: { top_k: 'i32', 'softmax_over_all?': 'i32', 'sigmoid?': 'i32' },
    sizes: { K: 'top_k' },
    outputs: { weights: 'f32 (T, K)', ids: 'i32 (T, K)' },
  }),
  route_grad: op({
    doc: 'gradient of route through its weights; the choice of experts has no gradient',
    inputs: {
      dweights: 'f32 (T, K)',
      weights: 'f32 (T, K)',
      ids: 'i32 (T, K)',
      logits: 'float (T, E)',
    },
    attrs: { 'softmax_over_all?': 'i32', 'sigmoid?': 'i32' },
    outputs: { dlogits: '=logits (T, E)' },
  }),
  expert_order: op({
    doc:
      'the choices (t, j) sorted by expert, and by t within an expert: ' +
      'places[t, j] is the position of a choice, tokens[place] its t, ends[e] the end of the ' +
      'positions of expert e',
    inputs: { ids: 'i32 (T, K)' },
    attrs: { experts: 'i32' },
    sizes: { E: 'experts' },
    outputs: { ends: 'i32 (E)', tokens: 'i32 (T*K)', places: 'i32 (T, K)' },
  }),
  expert_rows: op({
    doc: 'y[place] = x[tokens[place]]; only the gradient uses places',
    inputs: { x: 'float (T, C)', places: 'i32 (T, K)', tokens: 'i32 (T*K)' },
    attrs: {},
    outputs: { y: '=x (T*K, C)' },
  }),
  expert_adapters: op({
    doc:
      'y[place] = e·slots + adapters[tokens[place]] for the expert e of a place, or −1 if the token ' +
      'has no adapter: the index of the matrices that lora_delta reads for this row',
    inputs: { adapters: 'i32 (T)', tokens: 'i32 (T*K)', ends: 'i32 (E)' },
    attrs: { slots: 'i32' },
    outputs: { y: 'i32 (T*K)' },
  }),
  combine: op({
    doc:
      'y[t] = sum over j of weights[t, j] (1 without weights) · z[places[t, j]], in order of j, ' +
      '+ addend[t]',
    inputs: {
      places: 'i32 (T, K)',
      z: 'float (T*K, C)',
      'weights?': 'f32 (T, K)',
      'addend?': 'float (T, C)',
    },
    attrs: { dtype: 'dtype' },
    outputs: { y: '@dtype (T, C)' },
  }),
  combine_grad: op({
    doc: 'dz[places[t, j]] = weights[t, j] · dy[t]; dweights[t, j] = dy[t] · z[places[t, j]]',
    inputs: {
      dy: 'float (T, C)',
      places: 'i32 (T, K)',
      z: 'float (T*K, C)',
      weights: 'f32 (T, K)',
    },
    attrs: {},
    outputs: { dz: '=z (T*K, C)', dweights: 'f32 (T, K)' },
  }),
  expert_matmul_nt: op({
    doc:
      'matmul_nt per expert e: rows [ends[e − 1], ends[e]) of a, a2, addend and y with the matrices ' +
      'b[e], b2[e] and bias[e]; rows after the last expert are neither read nor written',
    inputs: {
      a: 'float (P, K)',
      b: 'weight (E, N, K)',
      ends: 'i32 (E)',
      'a2?': 'float (P, R)',
      'b2?': 'float (E, N, R)',
      'addend?': 'float (P, N)',
      'a_amax?': 'f32 (1)',
      'random?': 'i32 (3)',
      'bias?': 'float (E, N)',
    },
    attrs: { alpha: 'f32', arithmetic: 'linear_arithmetic', dtype: 'dtype' },
    outputs: { y: '@dtype (P, N)' },
  }),
  expert_matmul_nn: op({
    doc: 'matmul_nn per expert, with rows as in expert_matmul_nt; elements of a are numbered row by row',
    inputs: {
      a: 'float (P, K)',
      b: 'weight (E, K, N)',
      ends: 'i32 (E)',
      'a2?': 'float (P, R)',
      'b2?': 'float (E, R, N)',
      'addend?': 'float (P, N)',
      'a_amax?': 'f32 (1)',
      'random?': 'i32 (3)',
    },
    attrs: { alpha: 'f32', arithmetic: 'linear_arithmetic', stream: 'i32', dtype: 'dtype' },
    outputs: { y: '@dtype (P, N)' },
  }),
  expert_matmul_tn: op({
    doc: 'y[e] = alpha · aᵀ·b over the rows of expert e; 0 for an expert without rows',
    inputs: { a: 'float (P, M)', b: 'float (P, N)', ends: 'i32 (E)' },
    attrs: { alpha: 'f32', arithmetic: 'arithmetic', dtype: 'dtype' },
    outputs: { y: '@dtype (E, M, N)' },
  }),
  expert_bias_grad: op({
    doc: 'dbias[e] = sum of dy over the rows of expert e, in row order',
    inputs: { dy: 'float (P, N)', ends: 'i32 (E)' },
    attrs: {},
    outputs: { dbias: 'f32 (E, N)' },
  }),
  balance_sums: op({
    doc:
      'over the rows t with counted[t] ≠ 0: sums[0, e] = number of choices of e, sums[1, e] = sum of ' +
      'the softmax of logits at e',
    inputs: { logits: 'float (T, E)', ids: 'i32 (T, K)', 'counted?': 'i32 (T)' },
    attrs: {},
    outputs: { sums: 'f32 (2, E)' },
  }),
  balance_sums_grad: op({
    doc: 'p·(dsums[1] − p·dsums[1]) for the softmax p of each counted row, 0 for other rows',
    inputs: { dsums: 'f32 (2, E)', logits: 'float (T, E)', 'counted?': 'i32 (T)' },
    attrs: {},
    outputs: { dlogits: '=logits (T, E)' },
  }),
  balance_loss: op({
    doc:
      'loss = coefficient · scale · E · sum over e of sums[0, e]·sums[1, e] / rows² with rows = sum ' +
      'of sums[0] / top_k; dsums is its gradient, which is 0 for sums[0]',
    inputs: { sums: 'f32 (2, E)', 'scale?': 'f32 (1)' },
    attrs: { top_k: 'i32', coefficient: 'f32' },
    outputs: { loss: 'f32 (1)', dsums: 'f32 (2, E)' },
  }),
} as const
