/** What the kernels of training on preferences are tried on. */
import type { Case } from './cases.ts'
import { noise, tensor } from './one-op.ts'
import { range } from './serving-cases.ts'

const f32 = (values: number[]) => tensor('f32', [values.length], values)

/** Places without a sequence have a weight of 0 and whatever else. */
export function* preferences(): Generator<Case> {
  const dtype = 'f32'
  const some = [0, 0, -1, 2, 2, 2, -1, 4, -1]
  // The long ones are more tokens than a block of a card has threads.
  for (const [name, of] of [
    ['with empty ones', some],
    ['of a long row', range(700, t => (t % 9 < 7 ? (t * 3) % 5 : -1))],
    ['of one token', [4]],
  ] as const) {
    const segments = tensor('i32', [of.length], of)
    const x = noise('f32', [of.length], 64)
    yield { op: 'segment_sums', name, inputs: { x, segments }, attrs: { count: 5 }, dtype }
    const dy = noise('f32', [5], 65)
    yield { op: 'segment_sums_grad', name, inputs: { dy, segments }, attrs: {}, dtype }
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
  } // More pairs than a block of a card has threads, every fifth without a pair.
  const many = 300
  const scores = tensor(
    'f32',
    [2 * many],
    noise('f32', [2 * many], 66, 20).numbers.map(v => -0.1 - Math.abs(v)),
  )
  const counts = f32(range(2 * many, i => 1 + (i % 7)))
  const weights = f32(range(many, i => (i % 5 === 4 ? 0 : 0.25 + (i % 3))))
  const reference = noise('f32', [2 * many], 67, 20)
  yield {
    op: 'dpo_loss',
    name: 'many pairs',
    inputs: { scores, reference, weights },
    attrs: { kind: 0, beta: 0.1 },
    dtype,
  }
  const signed = f32(range(2 * many, i => [1, -1, 0][i % 3] ?? 0))
  yield {
    op: 'kto_loss',
    name: 'many',
    inputs: { scores, reference, weights: signed, baseline: f32([0.5]) },
    attrs: { beta: 0.1 },
    dtype,
  }
  yield {
    op: 'orpo_loss',
    name: 'many pairs',
    inputs: { scores, lengths: counts, weights, likelihood: noise('f32', [many], 68, 9), shares: weights },
    attrs: { beta: 0.1 },
    dtype,
  }
}
