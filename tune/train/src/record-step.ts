/**
 * The programs of a training step (contract T7): one for a micro-batch, which adds its gradients to the
 * sums of the window, then one for the norm and one for the update. Everything they need is known from the
 * model and the configuration, so they are recorded, and their memory is known, before any weight or document
 * is read.
 */
import type { Dtype, LinearArithmetic, Shape } from '@cairn-tune/ops'
import {
  createLinear,
  projectionLayer,
  recordModel,
  ropeInputs,
  type BaseRounding,
  type ModelConfig,
} from '@cairn-tune/models'
import {
  ONE,
  createRecorder,
  differentiate,
  type Program,
  type Recorder,
  type Step,
  type Tensor,
} from '@cairn-tune/program'
import type { BaseWeight } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { MATMULS, RECIPE_TABLE } from './recipes.ts'

/** What is trained: f32, under the name it has in an adapter or a checkpoint. */
export type Trained = { name: string; shape: Shape }

export type MicroStep = {
  program: Program
  /** Slots of a micro-batch. */
  slots: number
  /** Length of its cuSeqlens. */
  boundaries: number
  /** The frozen weights; none where all are trained. */
  base: BaseWeight[]
  trained: Trained[]
  /** Largest magnitudes of activations over the last steps, where the arithmetic scales by them. */
  histories: Trained[]
}

/** Name of the buffer in which a tensor's gradients are summed. */
export const gradientOf = (name: string) => `grad:${name}`

/**
 * Storage of a base weight under a recipe: quantised where it is a projection of a layer that the recipe
 * covers, and as the file has it elsewhere.
 */
export function storageOf(name: string, config: TrainConfig, model: ModelConfig): Dtype | undefined {
  const { storage } = RECIPE_TABLE[config.recipe]
  return storage !== 'bf16' && isCovered(projectionLayer(model, name), config, model) ? storage : undefined
}

/** Whether a recipe covers a layer. */
export const isCovered = (layer: number | undefined, config: TrainConfig, model: ModelConfig) =>
  layer !== undefined &&
  layer >= config.skip_quant_first_layers &&
  layer < model.num_hidden_layers - config.skip_quant_last_layers

/** The arithmetic of the projections. */
export function arithmeticOf({ recipe, matmul, compute_dtype }: TrainConfig): LinearArithmetic {
  const name = matmul ?? RECIPE_TABLE[recipe].matmul
  return name === 'bf16' ? compute_dtype : MATMULS[name].arithmetic
}

/** Three words that stochastic rounding draws from: the seed, low word first, and the micro-batch. */
export const RANDOM = 'random'

/** How the base's projections round under a recipe. */
function roundingOf(g: Recorder, config: TrainConfig, model: ModelConfig): BaseRounding {
  const arithmetic = arithmeticOf(config)
  return {
    arithmeticOf: linear =>
      isCovered(projectionLayer(model, `${linear}.weight`), config, model)
        ? arithmetic
        : config.compute_dtype,
    ...(arithmetic === 'nvfp4' ? { random: g.input(RANDOM, 'i32', [3]) } : {}),
  }
}

/**
 * Records a micro-batch of documents with at most so many boundaries. `plainDtype` says how a weight that no
 * recipe quantises is stored.
 */
export function recordMicroStep(
  model: ModelConfig,
  config: TrainConfig,
  boundaries: number,
  plainDtype: (name: string) => Dtype,
): MicroStep {
  const { per_device_train_batch_size: rows, max_seq_length: length, compute_dtype: dtype } = config
  const slots = rows * length
  const g = createRecorder()
  const weightsByName = new Map<string, Tensor>()
  const weights = (name: string, shape: Shape) => {
    const tensor =
      weightsByName.get(name) ??
      g.input(name, config.lora ? (storageOf(name, config, model) ?? plainDtype(name)) : 'f32', shape)
    weightsByName.set(name, tensor)
    return tensor
  }
  const { linear, adapters, amaxHistories } = createLinear({
    g,
    dtype,
    weights,
    rounding: roundingOf(g, config, model),
    ...(config.lora ? { lora: config } : {}),
  })
  const integers = (name: string, count: number) => g.input(name, 'i32', [count])
  const { loss } = recordModel(
    { g, config: model, dtype, weights, linear, trainsHead: !config.lora },
    {
      ids: integers('ids', slots),
      positions: integers('positions', slots),
      cuSeqlens: integers('cuSeqlens', boundaries),
      targets: integers('targets', slots),
      ropes: ropeInputs(g, model, length),
    },
  )
  const trained = config.lora ? [...adapters] : [...weightsByName.values()]
  const grads = differentiate(g, new Map([[loss, ONE]]), trained)
  for (const [tensor, x] of grads)
    g.accumulate({ total: g.input(gradientOf(tensor.name ?? ''), 'f32', tensor.shape), x }, {})
  const named = (tensors: Iterable<Tensor>) =>
    [...tensors].map(({ name = '', dtype: stored, shape }) => ({ name, dtype: stored, shape }))
  return {
    program: addUpEarly(g.finish({ loss })),
    slots,
    boundaries,
    base: config.lora ? named(weightsByName.values()) : [],
    trained: named(trained).map(({ name, shape }) => ({ name, shape })),
    histories: named(amaxHistories).map(({ name, shape }) => ({ name, shape })),
  }
}

/**
 * Each gradient is added to its sum right after its last part is made, so that no two need memory at a time.
 */
function addUpEarly(program: Program): Program {
  const isSum = (step: Step) => step.op === 'accumulate'
  const sums = new Map(program.steps.filter(isSum).map(step => [step.inputs['x'], step]))
  const steps = program.steps
    .filter(step => !isSum(step))
    .flatMap(step => [step, ...Object.values(step.outputs).flatMap(output => sums.get(output) ?? [])])
  return { ...program, steps }
}

/** The norm of the mean gradient: outputs `norm`, and `factor`, which the update multiplies by. */
export function recordNorm(trained: readonly Trained[], config: TrainConfig): Program {
  const g = createRecorder()
  const squares = trained.map(
    ({ name, shape }) => g.sum_squares({ x: g.input(gradientOf(name), 'f32', shape) }, {}).y,
  )
  const sum = squares.reduce((a, b) => g.add({ a, b }, {}).y)
  const { factor, norm } = g.clip_factor(
    { sum_squares: sum, count: g.input('count', 'f32', [1]) },
    { max_norm: config.max_grad_norm },
  )
  return g.finish({ factor, norm })
}

/** Norms of a model trained in full do not decay, as everywhere; both matrices of an adapter do. */
const decayOf = ({ shape }: Trained, config: TrainConfig) => (shape.length > 1 ? config.weight_decay : 0)

/** A tensor that steps change and checkpoints keep. */
export type StateTensor = { name: string; dtype: Dtype; shape: Shape }

/** How an optimizer stores the mean and the mean square of a gradient. */
const MOMENTS = { adamw: ['f32', 'f32'], adamw_8bit: ['dynamic8', 'dynamic8_unsigned'] } as const satisfies {
  [O in TrainConfig['optimizer']]: readonly [m: Dtype, v: Dtype]
}

/** The optimizer's states of a tensor. */
export function momentsOf(
  { name, shape }: Trained,
  { optimizer }: TrainConfig,
): [m: StateTensor, v: StateTensor] {
  const [m, v] = MOMENTS[optimizer]
  return [
    { name: `m:${name}`, dtype: m, shape },
    { name: `v:${name}`, dtype: v, shape },
  ]
}

/** Everything that a step changes: what is trained, its moments, and histories. */
export const stateTensors = (
  { trained, histories }: Pick<MicroStep, 'trained' | 'histories'>,
  config: TrainConfig,
): StateTensor[] => [
  ...trained.flatMap(tensor => [{ ...tensor, dtype: 'f32' as const }, ...momentsOf(tensor, config)]),
  ...histories.map(tensor => ({ ...tensor, dtype: 'f32' as const })),
]

/** Whether a tensor of the state is neither weight nor adapter: such start from zero. */
export const isBookkeeping = (name: string) => /^(?:[mv]|amax):/.test(name)

/** AdamW over everything trained, in place; histories move on by a step. */
export function recordUpdate(
  { trained, histories }: Pick<MicroStep, 'trained' | 'histories'>,
  config: TrainConfig,
): Program {
  const { adam_beta1: beta1, adam_beta2: beta2, adam_epsilon: eps } = config
  const g = createRecorder()
  const factor = g.input('factor', 'f32', [1])
  const schedule = g.input('schedule', 'f32', [2])
  for (const tensor of trained) {
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
