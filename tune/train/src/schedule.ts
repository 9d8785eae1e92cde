/**
 * Learning rates over a run, equal to transformers' get_scheduler: a warm-up from 0, then the type's decay.
 */

export type Schedule = {
  lr_scheduler_type: 'linear' | 'cosine' | 'constant' | 'constant_with_warmup'
  learning_rate: number
  warmup_steps: number
  totalSteps: number
}

const decays: Record<Schedule['lr_scheduler_type'], (progress: number) => number> = {
  linear: progress => Math.max(0, 1 - progress),
  cosine: progress => Math.max(0, 0.5 * (1 + Math.cos(Math.PI * progress))),
  constant: () => 1,
  constant_with_warmup: () => 1,
}

/** Steps of the warm-up, given as a number or as a share of all. */
export const warmupSteps = (
  { warmup_steps: steps, warmup_ratio: ratio }: { warmup_steps: number; warmup_ratio: number },
  totalSteps: number,
): number => (steps > 0 ? steps : Math.ceil(totalSteps * ratio))

/** The rate of a step, counted from 0. With a warm-up the first step has rate 0. */
export function learningRateAt(
  step: number,
  { lr_scheduler_type: type, learning_rate: highest, warmup_steps: warmup, totalSteps }: Schedule,
): number {
  if (step < warmup) return (highest * step) / warmup
  return highest * decays[type]((step - warmup) / Math.max(1, totalSteps - warmup))
}
