/**
 * Ops of the table for preference training: T tokens, S sequences whose completions are compared, P pairs of
 * them.
 */
import { op } from './op-spec.ts'

const head = { x: 'float (T, C)', weight: 'float (V, C)', targets: 'i32 (T)' } as const
const chunks = { arithmetic: 'arithmetic', chunk: 'i32', 'scale?': 'f32', 'softcap?': 'f32' } as const

export const PREFERENCE_OPS = {
  token_logps: op({
    doc:
      'logps[t] = z[targets[t]] − lse[t] with z = x[t]·weightᵀ, scaled and capped as in head_loss, and ' +
      'lse = logsumexp(z); ' +
      'both 0 where targets[t] is −100. At most `chunk` rows of z are in memory at a time; ' +
      'rows without a target are skipped',
    inputs: head,
    attrs: chunks,
    outputs: { logps: 'f32 (T)', lse: 'f32 (T)' },
  }),
  token_logps_grad: op({
    doc:
      'dx[t] = dlogps[t] · the gradient of logps[t], 0 where targets[t] is −100; ' +
      'z is recomputed chunk by chunk',
    inputs: { dlogps: 'f32 (T)', lse: 'f32 (T)', ...head },
    attrs: chunks,
    outputs: { dx: '=x (T, C)' },
  }),
  segment_sums: op({
    doc: 'y[s] = sum of x[t] over the t with segments[t] = s, in order of t; segment −1 is ignored',
    inputs: { x: 'f32 (T)', segments: 'i32 (T)' },
    attrs: { count: 'i32' },
    sizes: { S: 'count' },
    outputs: { y: 'f32 (S)' },
  }),
  segment_sums_grad: op({
    doc: 'dx[t] = dy[segments[t]], 0 where segments[t] is −1',
    inputs: { dy: 'f32 (S)', segments: 'i32 (T)' },
    attrs: {},
    outputs: { dx: 'f32 (T)' },
  }),
  dpo_loss: op({
    doc:
      'loss = sum over pairs of weights[p] · f(m) with m = d[2p] − d[2p + 1], d = (scores − ' +
      'reference) / lengths (1 without lengths). f is, by kind, 0: ' +
      '−(1 − s)·log σ(βm) − s·log σ(−βm) with s = label_smoothing, 1: max(0, 1 − βm), 2: ' +
      '(m − 1/(2β))². dscores is its gradient',
    inputs: { scores: 'f32 (2*P)', reference: 'f32 (2*P)', weights: 'f32 (P)', 'lengths?': 'f32 (2*P)' },
    attrs: { kind: 'i32', beta: 'f32', 'label_smoothing?': 'f32' },
    outputs: { loss: 'f32 (1)', dscores: 'f32 (2*P)' },
  }),
  kto_loss: op({
    doc:
      'loss = sum of |w| · (1 − σ(±β(scores − reference − baseline))) with the sign of w = ' +
      'weights[s], which is positive for wanted completions and negative for unwanted ones. ' +
      'dscores is its gradient; baseline has none',
    inputs: { scores: 'f32 (S)', reference: 'f32 (S)', weights: 'f32 (S)', baseline: 'f32 (1)' },
    attrs: { beta: 'f32' },
    outputs: { loss: 'f32 (1)', dscores: 'f32 (S)' },
  }),
  orpo_loss: op({
    doc:
      'loss = sum over pairs of −shares[p]·likelihood[p] − weights[p]·β·log σ(o) with o = a − b − ' +
      'log(1 − eᵃ) + log(1 − eᵇ), a and b = scores / lengths of 2p and 2p + 1; dscores and ' +
      'dlikelihood are its gradients',
    inputs: {
      scores: 'f32 (2*P)',
      lengths: 'f32 (2*P)',
      weights: 'f32 (P)',
      likelihood: 'f32 (P)',
      shares: 'f32 (P)',
    },
    attrs: { beta: 'f32' },
    outputs: { loss: 'f32 (1)', dscores: 'f32 (2*P)', dlikelihood: 'f32 (P)' },
  }),
} as const
