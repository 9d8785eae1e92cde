/** The programs after the micro-batches of a step: the norm of the gradients, and the update. */
import type { Dtype, Shape } from '@cairn-tune/ops'
import { createRecorder, type Program } from '@cairn-tune/program'
import type { ExpertSlice } from '@cairn-tune/weights'
import { ADAPTERS, SPANS, comeFirst } from './adapter-copies.ts'
import type { TrainConfig } from './config.ts'
import { gradientOf, type MicroStep, type Trained } from './record-step.ts'

/** Input with the sum of squares of a gradient whose experts are divided among ranks. */
export const squaresOf = (name: string) => `squares:${name}`

/**
 * The norm of the mean gradient: outputs `norm`, and `factor`, which the update multiplies by. Adapters with
 * copies are parts of one tensor, with the same bits as one by one.
 */
export function recordNorm(
  { trained, copies }: Pick<MicroStep, 'trained' | 'copies'>,
  config: TrainConfig,
): Program {
  const g = createRecorder()
  const whole = copies && comeFirst(copies, trained) ? copies : undefined
  const squares = trained
    .slice(whole?.spans.length)
    .map(({ name, shape, slice }) =>
      slice
        ? g.input(squaresOf(name), 'f32', [1])
        : g.sum_squares({ x: g.input(gradientOf(name), 'f32', shape) }, {}).y,
    )
  if (whole) {
    const x = g.input(gradientOf(ADAPTERS), 'f32', [whole.count])
    squares.unshift(g.sum_squares({ x, parts: g.input(SPANS, 'i32', [whole.spans.length, 2]) }, {}).y)
  }
  const sum = squares.reduce((a, b) => g.add({ a, b }, {}).y)
  const { factor, norm } = g.clip_factor(
    { sum_squares: sum, count: g.input('count', 'f32', [1]) },
    { max_norm: config.max_grad_norm },
  )
  return g.finish({ factor, norm })
}

/**
 * Norms and biases of the base do not decay. All tensors of an adapter do, including magnitudes, as with PEFT
 * under transformers' trainer.
 */
const decayOf = ({ name, shape }: Trained, config: TrainConfig) =>
  shape.length > 1 || (config.lora && !name.endsWith('.weight')) ? config.weight_decay : 0

/** A tensor that steps modify and checkpoints save. */
export type StateTensor = { name: string; dtype: Dtype; shape: Shape; slice?: ExpertSlice | undefined }

/** Storage of the first and second moment of a gradient, by optimizer. */
const MOMENTS = { adamw: ['f32', 'f32'], adamw_8bit: ['dynamic8', 'dynamic8_unsigned'] } as const satisfies {
  [O in TrainConfig['optimizer']]: readonly [m: Dtype, v: Dtype]
}

/** The optimizer's states of a tensor. */
export function momentsOf(
  { name, ...rest }: Trained,
  { optimizer }: TrainConfig,
): [m: StateTensor, v: StateTensor] {
  const [m, v] = MOMENTS[optimizer]
  return [
    { name: `m:${name}`, dtype: m, ...rest },
    { name: `v:${name}`, dtype: v, ...rest },
  ]
}

/**
 * Prefixes of tensors that have one buffer for all adapters with copies. 8-bit moments have none, because
 * each stores its codes and scales as a whole.
 */
export const adapterPrefixes = ({ optimizer }: TrainConfig): string[] => [
  '',
  gradientOf(''),
  ...(optimizer === 'adamw' ? ['m:', 'v:'] : []),
]

/** Everything that a step modifies: trained tensors, their moments, and histories. */
export const stateTensors = (
  { trained, histories }: Pick<MicroStep, 'trained' | 'histories'>,
  config: TrainConfig,
): StateTensor[] => [
  ...trained.flatMap(tensor => [{ ...tensor, dtype: 'f32' as const }, ...momentsOf(tensor, config)]),
  ...histories.map(tensor => ({ ...tensor, dtype: 'f32' as const })),
]

/** Whether a state tensor is neither weight nor adapter. Such tensors start from zero. */
export const isBookkeeping = (name: string) => /^(?:[mv]|amax):/.test(name)

/**
 * Records AdamW over all trained tensors, in place, and shifts the histories by a step. Adapters with copies
 * are one tensor, whose gaps are and stay zero.
 */
export function recordUpdate(
  { trained, histories, copies }: Pick<MicroStep, 'trained' | 'histories' | 'copies'>,
  config: TrainConfig,
): Program {
  const { adam_beta1: beta1, adam_beta2: beta2, adam_epsilon: eps } = config
  const g = createRecorder()
  const factor = g.input('factor', 'f32', [1])
  const schedule = g.input('schedule', 'f32', [2])
  const whole = config.optimizer === 'adamw' ? copies : undefined
  const names = new Set(whole?.spans.map(({ name }) => name))
  const tensors = trained.filter(({ name }) => !names.has(name))
  if (whole) tensors.push({ name: ADAPTERS, shape: [whole.count] })
  for (const tensor of tensors) {
    const { name, shape } = tensor
    const [p, grad] = [g.input(name, 'f32', shape), g.input(gradientOf(name), 'f32', shape)]
    const [m, v] = momentsOf(tensor, config)
    g[config.optimizer](
      {
        p,
        g: grad,
        m: g.input(m.name, m.dtype, shape),
        v: g.input(v.name, v.dtype, shape),
        factor,
        schedule,
      },
      { beta1, beta2, eps, weight_decay: decayOf(tensor, config) },
    )
  }
  for (const { name, shape } of histories) g.roll_amax({ history: g.input(name, 'f32', shape) }, {})
  return g.finish({})
}
