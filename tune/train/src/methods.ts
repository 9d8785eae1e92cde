/** Training methods, and what each needs besides a model. */

export const METHODS = ['sft', 'dpo', 'kto', 'orpo'] as const
export type Method = (typeof METHODS)[number]
export type Preference = Exclude<Method, 'sft'>

export const isPreference = (method: Method): method is Preference => method !== 'sft'

export const DPO_LOSSES = ['sigmoid', 'hinge', 'ipo', 'robust'] as const
export type DpoLoss = (typeof DPO_LOSSES)[number]

/**
 * Attributes of the op for a loss. TRL's robust loss, ((1 − s)·a − s·b) / (1 − 2s), is the smoothed sigmoid
 * (1 − t)·a + t·b with t = −s / (1 − 2s).
 */
export function dpoAttrs(loss: DpoLoss, smoothing: number): { kind: number; label_smoothing: number } {
  if (loss === 'robust') return { kind: 0, label_smoothing: -smoothing / (1 - 2 * smoothing) }
  return { kind: DPO_LOSSES.indexOf(loss), label_smoothing: smoothing }
}

/** Whether a method compares answers with the scores of the untrained model. */
export const hasReference = (method: Method): boolean => method === 'dpo' || method === 'kto'

/** Default learning rate of preference methods. */
export const PREFERENCE_LEARNING_RATE = 1e-6
