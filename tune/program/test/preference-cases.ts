/** What the kernels of training on preferences are tried on. */
import type { Case } from './cases.ts'
import { noise, tensor } from './one-op.ts'

const f32 = (values: number[]) => tensor('f32', [values.length], values)

/** Places without a sequence have a weight of 0 and whatever else. */
export function* preferences(): Generator<Case> {
  const dtype = 'f32'
  const segments = tensor('i32', [9], [0, 0, -1, 2, 2, 2, -1, 4, -1])
  yield {
    op: 'segment_sums',
    name: 'with empty ones',
    inputs: { x: noise('f32', [9], 64), segments },
    attrs: { count: 5 },
    dtype,
  }
  yield {
    op: 'segment_sums_grad',
    name: 'with empty ones',
    inputs: { dy: noise('f32', [5], 65), segments },
    attrs: {},
    dtype,
  }
  const pairs = {
    scores: f32([-3, -9, -20.5, -4, -7, -7.25, 0, 0]),
    reference: f32([-4, -8, -12, -30, -7, -7, 0, 0]),
    weights: f32([1, 1, 0.5, 0]),
  }
  const lengths = f32([3, 7, 11, 5, 4, 4, 0, 0])
  for (const [kind, name] of ['sigmoid', 'hinge', 'ipo'].entries()) {
    yield { op: 'dpo_loss', name, inputs: pairs, attrs: { kind, beta: 0.1 }, dtype }
    yield {
      op: 'dpo_loss',
      name: `${name}, means, smoothed`,
      inputs: { ...pairs, lengths },
      attrs: { kind, beta: 0.5, label_smoothing: 0.1 },
      dtype,
    }
  }
  yield {
    op: 'kto_loss',
    name: 'up, down, none',
    inputs: {
      scores: pairs.scores,
      reference: pairs.reference,
      weights: f32([1, -1, 1.5, -0.5, 1, 1, 0, 0]),
      baseline: f32([0.75]),
    },
    attrs: { beta: 0.3 },
    dtype,
  }
  yield {
    op: 'orpo_loss',
    name: 'pairs',
    inputs: {
      scores: pairs.scores,
      lengths,
      weights: pairs.weights,
      likelihood: f32([-30, -10, -5, 0]),
      shares: f32([0.25, 0.25, 0.125, 0]),
    },
    attrs: { beta: 0.4 },
    dtype,
  }
}
