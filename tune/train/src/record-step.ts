/**
 * The programs of a training step (contract T7): one for a micro-batch, which adds its gradients to the sums
 * of the window, then one for the norm and one for the update. They depend only on the model and the
 * configuration, so they are recorded, and their memory is known, before any weight or document is read.
 */
import type { Dtype, LinearArithmetic, Shape } from '@cairn-tune/ops'
import {
  COPY,
  createLinear,
  headName,
  partsOf,
  projectionLayer,
  recordLogps,
  recordModel,
  ropeInputs,
  type BaseRounding,
  type ModelConfig,
} from '@cairn-tune/models'
import {
  ONE,
  addIntoSums,
  createRecorder,
  differentiate,
  fuseUnits,
  groupProducts,
  type Program,
  type Recorder,
  type Tensor,
} from '@cairn-tune/program'
import type { BaseWeight, ExpertSlice } from '@cairn-tune/weights'
import { layOut, type AdapterCopies } from './adapter-copies.ts'
import type { TrainConfig } from './config.ts'
import { isPreference } from './methods.ts'
import { MATMULS, RECIPE_TABLE } from './recipes.ts'
import { recordComparisons, recordScores, sequencesFor } from './record-preference.ts'
import { rowsName, trainedWeightsOf, type TrainedWeights } from './trained-weights.ts'

/** A trained tensor: f32, with its name in an adapter or a checkpoint. */
export type Trained = { name: string; shape: Shape; slice?: ExpertSlice | undefined }

export type MicroStep = {
  program: Program
  /** Slots of a micro-batch. */
  slots: number
  /** Length of its cuSeqlens. */
  boundaries: number
  /** The frozen weights. Empty if all are trained. */
  base: BaseWeight[]
  trained: Trained[]
  /** Weights of which some rows are trained: the whole f32 matrix that programs read, and those rows. */
  tables: { name: string; shape: Shape; rows: readonly number[] }[]
  /** Adapters with a bf16 copy, and where they lie in the buffer of all adapters and in that of all copies. */
  copies: AdapterCopies | undefined
  /** Largest magnitudes of activations over the last steps, for arithmetics that scale by them. */
  histories: Trained[]
}

/** Name of the buffer in which a tensor's gradients are summed. */
export const gradientOf = (name: string) => `grad:${name}`

/**
 * Storage of a base weight under a recipe: quantised if the recipe covers its projection, otherwise as in the
 * file.
 */
export function storageOf(name: string, config: TrainConfig, model: ModelConfig): Dtype | undefined {
  const { storage } = RECIPE_TABLE[config.recipe]
  // A base in MXFP4 stays as it is: its experts in MXFP4, all else unquantised.
  if (model.quantization === 'mxfp4')
    return partsOf(model).projectionOf.get(name)?.experts === undefined ? undefined : 'mxfp4'
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

/** Key of stochastic rounding and dropout, three words: the seed, low word first, and the micro-batch. */
export const RANDOM = 'random'
/** Inputs: which slots hold a document's token, and how many the loss counts. */
export const [IS_REAL, COUNTED] = ['is_real', 'counted'] as const

/** Rounding of the base's projections under a recipe. */
function roundingOf(
  config: TrainConfig,
  model: ModelConfig,
  random: Tensor | undefined,
  observes: boolean,
): BaseRounding {
  const arithmetic = arithmeticOf(config)
  return {
    observes,
    arithmeticOf: linear =>
      isCovered(projectionLayer(model, `${linear}.weight`), config, model)
        ? arithmetic
        : config.compute_dtype,
    ...(arithmetic === 'nvfp4' && random ? { random } : {}),
  }
}

export type RecordOptions = {
  /** Length of the batch's cuSeqlens. */
  boundaries: number
  /** Storage of a weight that no recipe quantises. */
  plainDtype: (name: string) => Dtype
  /** Rows of logits that the head computes at a time. */
  logitRows: number
  /** Whether linears read bf16 copies of adapters where the arithmetic allows it. */
  copiesAdapters: boolean
  /** Whether products with few columns are moved next to each other. Changes no result. */
  groupsProducts?: boolean
}

type LossOptions = RecordOptions & {
  /** Whether the program belongs to a training step. */
  trains: boolean
  /** Set if only log-probabilities of answers are needed: of the base alone, or with its adapter. */
  scores?: 'base' | 'adapted'
}

/** Records the loss of a micro-batch, or its scores of answers. */
function recordLoss(
  g: Recorder,
  model: ModelConfig,
  config: TrainConfig,
  { boundaries, plainDtype, logitRows, copiesAdapters, trains, scores }: LossOptions,
) {
  const { per_device_train_batch_size: rows, max_seq_length: length, compute_dtype: dtype } = config
  const slots = rows * length
  const weightsByName = new Map<string, Tensor>()
  const own = trainedWeightsOf(config, model)
  const isFrozen = (name: string) => config.lora && !own.whole.has(name) && !own.rows.has(name)
  const weights = (name: string, shape: Shape) => {
    const tensor =
      weightsByName.get(name) ??
      g.input(name, isFrozen(name) ? (storageOf(name, config, model) ?? plainDtype(name)) : 'f32', shape)
    weightsByName.set(name, tensor)
    return tensor
  }
  const drops = trains && config.lora_dropout > 0
  const random = arithmeticOf(config) === 'nvfp4' || drops ? g.input(RANDOM, 'i32', [3]) : undefined
  const { linear, adapters, amaxHistories } = createLinear({
    g,
    dtype,
    weights,
    rounding: roundingOf(config, model, random, trains),
    ...(config.lora && scores !== 'base' ? { lora: config } : {}),
    ...(drops ? { random } : {}),
    // DoRA reads adapters in f32, and a preference method also runs with the reference's.
    readsCopies: copiesAdapters && dtype === 'bf16' && !config.use_dora && !isPreference(config.method),
  })
  const integers = (name: string, count: number) => g.input(name, 'i32', [count])
  const batch = {
    ids: integers('ids', slots),
    positions: integers('positions', slots),
    cuSeqlens: integers('cuSeqlens', boundaries),
    targets: integers('targets', slots),
    ropes: ropeInputs(g, model, length),
  }
  const balance =
    trains && config.router_aux_loss_coef > 0
      ? {
          coefficient: config.router_aux_loss_coef,
          counted: integers(IS_REAL, slots),
          scale: g.input(COUNTED, 'f32', [1]),
          sums: [],
        }
      : undefined
  const recorded = { g, config: model, dtype, weights, linear, balance, logitRows }
  const { method } = config
  const outputs = (): Outputs => {
    if (scores !== undefined)
      return { scores: recordScores(g, recordLogps(recorded, batch), sequencesFor(boundaries)) }
    if (isPreference(method))
      return recordComparisons(
        g,
        { ...config, method },
        recordLogps(recorded, batch),
        sequencesFor(boundaries),
      )
    const made = recordModel({ ...recorded, trainsHead: trains && !isFrozen(headName(model)) }, batch)
    return made.balance ? { loss: made.loss, balance: made.balance } : { loss: made.loss }
  }
  return { outputs: outputs(), slots, weightsByName, adapters, amaxHistories, own }
}

/** `balance` is a term of the loss, and included in it. */
type Outputs = Record<string, Tensor> & { loss?: Tensor; balance?: Tensor }

/**
 * The loss of documents that are not trained on. It reads magnitudes without recording new ones, so that an
 * evaluation does not affect the run.
 */
export function recordEvaluation(model: ModelConfig, config: TrainConfig, options: RecordOptions): Program {
  const g = createRecorder()
  return g.finish(recordLoss(g, model, config, { ...options, trains: false }).outputs)
}

/** Records the log-probability of each answer, by the base alone or with its adapter. */
export function recordAnswers(
  model: ModelConfig,
  config: TrainConfig,
  scores: 'base' | 'adapted',
  options: RecordOptions,
): Program {
  const g = createRecorder()
  return g.finish(recordLoss(g, model, config, { ...options, trains: false, scores }).outputs)
}

/** Records a micro-batch of documents with at most `boundaries` boundaries. */
export function recordMicroStep(model: ModelConfig, config: TrainConfig, options: RecordOptions): MicroStep {
  const g = createRecorder()
  const recorded = recordLoss(g, model, config, { ...options, trains: true })
  const { outputs, slots, weightsByName, adapters, amaxHistories, own } = recorded
  const { balance, ...rest } = outputs
  const { loss } = rest
  if (!loss) throw new Error('[recordMicroStep] no loss')
  const weights = [...weightsByName.values()]
  const isOwn = ({ name = '' }: Tensor) => own.whole.has(name) || own.rows.has(name)
  const trained = config.lora ? [...adapters, ...weights.filter(isOwn)] : weights
  const grads = differentiate(
    g,
    new Map([loss, ...(balance ? [balance] : [])].map(part => [part, ONE] as const)),
    trained,
  )
  const all = balance ? { ...rest, loss: g.add({ a: loss, b: balance }, {}).y } : rest
  for (const [tensor, x] of grads) {
    const { name, shape, gradient } = trainedPart(g, { ...tensor, name: trainedName(tensor) }, x, own)
    g.accumulate({ total: g.input(gradientOf(name), 'f32', shape), x: gradient }, {})
  }
  const named = (tensors: Iterable<Tensor>) =>
    [...tensors]
      .map(tensor => ({ ...tensor, name: trainedName(tensor) }))
      .map(({ name, dtype: stored, shape }) => ({ name, dtype: stored, shape }))
  const copies = adapters.filter(({ name = '' }) => name.startsWith(COPY))
  const program = fuseUnits(addIntoSums(g.finish(all)))
  return {
    program: options.groupsProducts ? groupProducts(program) : program,
    slots,
    boundaries: options.boundaries,
    base: config.lora ? named(weights.filter(weight => !isOwn(weight))) : [],
    trained: named(trained).map(({ name, shape }) => {
      const rows = own.rows.get(name)
      return rows ? { name: rowsName(name), shape: [rows.length, ...shape.slice(1)] } : { name, shape }
    }),
    tables: named(trained).flatMap(({ name, shape }) => {
      const rows = own.rows.get(name)
      return rows ? [{ name, shape, rows }] : []
    }),
    copies: copies.length > 0 ? layOut(named(copies)) : undefined,
    histories: named(amaxHistories).map(({ name, shape }) => ({ name, shape })),
  }
}

/** Name of a trained tensor, or of the one that a copy is of. */
const trainedName = ({ name = '' }: Tensor) => (name.startsWith(COPY) ? name.slice(COPY.length) : name)

/** Input with the trained rows of a table. */
export const rowIdsOf = (table: string) => `rows:${table}`

/** The trained part of a tensor with its gradient: all of it, or some rows. */
function trainedPart(
  g: Recorder,
  { name = '', shape }: Tensor,
  gradient: Tensor,
  { rows }: TrainedWeights,
): Trained & { gradient: Tensor } {
  const ids = rows.get(name)
  if (!ids) return { name, shape, gradient }
  const taken = g.gather_rows({ x: gradient, rows: g.input(rowIdsOf(name), 'i32', [ids.length]) }, {}).y
  return { name: rowsName(name), shape: [ids.length, ...shape.slice(1)], gradient: taken }
}
