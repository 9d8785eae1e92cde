/** The loss of comparisons, from the log-probabilities of single tokens (docs/tune/preferences.md). */
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { TrainConfig } from './config.ts'
import { dpoAttrs, type Preference } from './methods.ts'

/** Records log-probabilities of whole answers: (T) → (sequences). */
export const recordScores = (g: Recorder, logps: Tensor, sequences: number): Tensor =>
  g.segment_sums({ x: logps, segments: g.input('segments', 'i32', logps.shape) }, { count: sequences }).y

/** Maximum sequences of a micro-batch with this many boundaries, each being a document. */
export const sequencesFor = (boundaries: number): number => 2 * Math.ceil(boundaries / 2)

/** Records the sum of the losses of a micro-batch. */
export function recordComparisons(
  g: Recorder,
  config: TrainConfig & { method: Preference },
  logps: Tensor,
  sequences: number,
): { loss: Tensor; scores: Tensor } {
  const { method, beta } = config
  const scores = recordScores(g, logps, sequences)
  const numbers = (name: string, count: number) => g.input(name, 'f32', [count])
  const pairs = sequences / 2
  switch (method) {
    case 'dpo': {
      const inputs = {
        scores,
        reference: numbers('reference', sequences),
        weights: numbers('weights', pairs),
        lengths: config.loss_type === 'ipo' ? numbers('lengths', sequences) : undefined,
      }
      return {
        loss: g.dpo_loss(inputs, { ...dpoAttrs(config.loss_type, config.label_smoothing), beta }).loss,
        scores,
      }
    }
    case 'kto': {
      const inputs = {
        scores,
        reference: numbers('reference', sequences),
        weights: numbers('weights', sequences),
        baseline: numbers('baseline', 1),
      }
      return { loss: g.kto_loss(inputs, { beta }).loss, scores }
    }
    case 'orpo': {
      const segments = g.input('likelihood_segments', 'i32', logps.shape)
      const inputs = {
        scores,
        lengths: numbers('lengths', sequences),
        weights: numbers('weights', pairs),
        likelihood: g.segment_sums({ x: logps, segments }, { count: pairs }).y,
        shares: numbers('shares', pairs),
      }
      return { loss: g.orpo_loss(inputs, { beta }).loss, scores }
    }
  }
}
