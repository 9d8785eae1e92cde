/**
 * Peak memory of a run, part by part, and the plan that fits a budget. Both are known before the run starts
 * (contract T4, T7).
 */
import type { Engine } from '@cairn-tune/native'
import { byteLength, countElements } from '@cairn-tune/ops'
import {
  planMemory,
  planWithin,
  recompute,
  scratchBytes,
  type Plan,
  type RecomputePolicy,
  type Program,
} from '@cairn-tune/program'
import type { ModelConfig } from '@cairn-tune/models'
import { loadingBytes, plainDtype, type Checkpoint } from '@cairn-tune/weights'
import { copyBytes } from './adapter-copies.ts'
import type { TrainConfig } from './config.ts'
import { divideStep, expertShareOf, wholeOf } from './experts/expert-share.ts'
import { planAllDivided, type DividedPlans } from './experts/plan-divided.ts'
import { OutOfMemoryError } from './errors.ts'
import { bytesText } from './memory-budget.ts'
import { hasReference } from './methods.ts'
import { recordAnswers, recordEvaluation, recordMicroStep, type MicroStep } from './record-step.ts'
import { planAllStreamed, spoolingBytes, streamedBytes, type StreamedPlans } from './plan-streamed.ts'
import { residentBytes } from './resident-weights.ts'
import { adapterPrefixes, momentsOf, recordNorm, recordUpdate } from './record-update.ts'

/** All in bytes. */
export type MemoryEstimate = {
  /** The stored base, as far as it is read. */
  weights: number
  /** Trained tensors, in f32, and copies of adapters in bf16. */
  trained: number
  gradients: number
  optimizer: number
  /** Activations and other tensors that the programs keep between ops. */
  arena: number
  /** Scratch of the kernels. */
  scratch: number
  /** The largest weight in its file format, while it is converted. Released before the first step. */
  loading: number
  /** Node itself, the tokenised data and the batch. */
  process: number
  /** Peak of the sum at any time. */
  total: number
}

export type RunPlan = {
  micro: MicroStep
  program: Program
  plan: Plan
  memory: MemoryEstimate
  /** The loss alone, for a run with evaluation. */
  evaluation: PlannedProgram | undefined
  /** Scores of answers by the reference, for methods that have one. */
  reference: PlannedProgram | undefined
  /** Scores of untrained answers by the model (kto). */
  scoring: PlannedProgram | undefined
  /** Description of the recomputed blocks. */ recomputed: string
  /** The same programs in stages, for a streamed base. */
  streamed: StreamedPlans | undefined
  /** The same programs for a rank with a part of the experts. */
  divided: DividedPlans | undefined
  /** Rows of logits that the programs compute at a time. They decide the order of sums on a card. */
  logitRows: number
}

export type PlannedProgram = { program: Program; plan: Plan }

export type PlanOptions = {
  engine: Engine
  checkpoint: Checkpoint
  model: ModelConfig
  config: TrainConfig
  boundaries: number
  budgetBytes: number
  /** Node's present memory, and its expected growth. */
  processBytes: () => number
  /** Token ids in the data. Undefined before it is read. */
  tokenIds?: ReadonlySet<number> | undefined
  /** Rows of logits of the run that this one continues. */
  logitRows?: number | undefined
  /** The rank that the plan is for, which matters if ranks divide the experts. */
  rank?: number | undefined
}

/** Rows of logits if more of them do not fit. */
const MIN_LOGIT_ROWS = 512

/**
 * Records a run and plans its memory. A run that does not fit with the engine's rows of logits is planned
 * with the fewest. Throws OutOfMemoryError if it does not fit even so with everything recomputed.
 */
export function planRun({ logitRows, ...options }: PlanOptions): RunPlan {
  const rows = logitRows ?? options.engine.logitRows
  try {
    return planWithRows(options, rows)
  } catch (error) {
    if (!(error instanceof OutOfMemoryError) || logitRows !== undefined || rows <= MIN_LOGIT_ROWS) throw error
    return planWithRows(options, MIN_LOGIT_ROWS)
  }
}

function planWithRows(options: Omit<PlanOptions, 'logitRows'>, logitRows: number): RunPlan {
  const { engine, checkpoint, model, config, boundaries, budgetBytes, processBytes, tokenIds } = options
  const stored = (name: string) => plainDtype(checkpoint, name)
  const recording = {
    boundaries,
    plainDtype: stored,
    logitRows,
    copiesAdapters: engine.convertsInLaunches,
    groupsProducts: engine.groupsProducts,
  }
  const share = expertShareOf(config, model, options.rank ?? 0)
  const micro = divideStep(recordMicroStep(model, config, recording), share)
  const evaluation = planEvaluation(config, () => recordEvaluation(model, config, recording))
  const answers = (of: 'base' | 'adapted') => withPlan(recordAnswers(model, config, of, recording))
  const scoring = config.method === 'kto' ? answers('adapted') : undefined
  const reference = hasReference(config.method)
    ? answers(config.reference_adapter === undefined ? 'base' : 'adapted')
    : undefined
  const others = [evaluation, scoring, reference].filter(one => one !== undefined)
  const trained = micro.trained.reduce((sum, { shape }) => sum + countElements(shape) * 4, 0)
  const copies = copyBytes(micro.copies, adapterPrefixes(config).length)
  const streamed = config.offload === 'disk' ? planAllStreamed(micro, evaluation?.program, config) : undefined
  const fixed = {
    weights: streamed
      ? streamedBytes(streamed, micro.base, tokenIds)
      : residentBytes(micro.base, { checkpoint, model, tokenIds }) +
        micro.tables.reduce((sum, { shape }) => sum + byteLength('f32', shape), 0),
    trained: trained + copies,
    gradients: trained * sumsPerStep(config) + largestOfExperts(micro),
    optimizer: micro.trained
      .flatMap(tensor => momentsOf(tensor, config))
      .reduce((sum, { dtype, shape }) => sum + byteLength(dtype, shape), 0),
    loading: streamed
      ? spoolingBytes(checkpoint, micro.base)
      : micro.base.reduce((max, weight) => Math.max(max, loadingBytes(checkpoint, weight)), 0),
    // A program in stages is many programs, and their objects count too.
    process: processBytes(),
  }
  // The scratch of kernels depends on shapes and not on recomputation.
  const scratch = Math.max(
    ...[
      micro.program,
      recordNorm(micro, config),
      recordUpdate(micro, config),
      ...others.map(({ program }) => program),
    ].map(program => scratchBytes(engine, program)),
  )
  const beside = fixed.process + fixed.weights + fixed.trained + fixed.gradients + fixed.optimizer + scratch
  const rest = budgetBytes - beside
  const divided = share && planAllDivided(micro.program, evaluation?.program, share, config.recompute, rest)
  const withArena = (ofSteps: number): MemoryEstimate => {
    // All programs share one arena, because they never run at the same time.
    const arena = streamed
      ? streamed.arenaBytes + streamed.carriedBytes
      : divided
        ? divided.arenaBytes
        : Math.max(ofSteps, ...others.map(({ plan }) => plan.arenaBytes))
    const stepping = fixed.trained + fixed.gradients + fixed.optimizer + arena + scratch
    // Pages of a streamed base are released as it is loaded.
    const total = streamed
      ? fixed.process +
        Math.max(fixed.weights + stepping, fixed.loading + fixed.trained + fixed.gradients + fixed.optimizer)
      : fixed.process + fixed.weights + Math.max(stepping, fixed.loading)
    return { ...fixed, arena, scratch, total }
  }
  const cut = divided ?? streamed
  const chosen: Chosen | { arenaBytes: number } = cut
    ? { ...cut.whole, ...withPlan(cut.whole.program), arenaBytes: cut.arenaBytes }
    : choosePlan(micro.program, config.recompute, rest)
  const memory = withArena(chosen.arenaBytes)
  if (memory.total > budgetBytes || !isPlanned(chosen)) {
    throw new OutOfMemoryError(
      `OOM: this run needs ${bytesText(memory.total)} ` +
        `${config.recompute === 'none' ? '' : 'even with everything recomputed '}` +
        `but may use only ${bytesText(budgetBytes)}: ${memoryText(memory)}. ` +
        'Lower per_device_train_batch_size or max_seq_length, use a recipe with a quantised base or a ' +
        `smaller model${streamed || !config.lora ? '' : ', or keep the base on disk (offload: disk)'}.`,
      memory.total,
      budgetBytes,
    )
  }
  const { program, plan, policy } = chosen
  const recomputed = policyText(policy)
  return {
    micro,
    program,
    plan,
    memory,
    evaluation,
    reference,
    scoring,
    recomputed,
    streamed,
    divided,
    logitRows,
  }
}

/** Ranks add micro-batches one by one, also those that pass a streamed layer together. */
const sumsPerStep = ({ ranks, offload, gradient_accumulation_steps: window }: TrainConfig) =>
  ranks > 1 && offload === 'disk' ? window : 1

/** The gradient of all experts of which a rank computes the norm. */
const largestOfExperts = ({ trained }: MicroStep) =>
  Math.max(0, ...trained.map(one => (one.slice ? byteLength('f32', wholeOf(one).shape) : 0)))

/** Undefined if there is nothing to evaluate. */
function planEvaluation(
  { eval_dataset: dataset, eval_split: split }: TrainConfig,
  record: () => Program,
): RunPlan['evaluation'] {
  if (dataset === undefined && split === undefined) return undefined
  return withPlan(record())
}

const withPlan = (program: Program): PlannedProgram => ({ program, plan: planMemory(program) })

type Chosen = { arenaBytes: number; program: Program; plan: Plan; policy: RecomputePolicy }

const isPlanned = (chosen: Chosen | { arenaBytes: number }): chosen is Chosen => 'plan' in chosen

function choosePlan(
  program: Program,
  mode: TrainConfig['recompute'],
  budgetBytes: number,
): Chosen | { arenaBytes: number } {
  if (mode === 'auto') {
    const verdict = planWithin(program, budgetBytes)
    return verdict.fits
      ? { ...verdict, arenaBytes: verdict.plan.arenaBytes }
      : { arenaBytes: verdict.minBytes }
  }
  const blocks = new Set(mode === 'all' ? program.steps.flatMap(({ block }) => block ?? []) : [])
  const policy: RecomputePolicy = { cheap: blocks, whole: blocks }
  const changed = mode === 'all' ? recompute(program, policy) : program
  const plan = planMemory(changed)
  return { program: changed, plan, policy, arenaBytes: plan.arenaBytes }
}

function policyText({ cheap, whole }: RecomputePolicy): string {
  if (whole.size > 0) return `${whole.size} whole layers, cheap ops of ${cheap.size}`
  return cheap.size > 0 ? `cheap ops of ${cheap.size} layers` : 'nothing'
}

/** `weights 1.1 GiB, adapter …`. Parts below a MiB are left out. */
export function memoryText(memory: MemoryEstimate): string {
  const names: Record<Exclude<keyof MemoryEstimate, 'total'>, string> = {
    weights: 'base weights',
    trained: 'trained weights',
    gradients: 'gradients',
    optimizer: 'optimizer',
    arena: 'activations',
    scratch: 'kernels',
    loading: 'loading',
    process: 'process and data',
  }
  return Object.entries(names)
    .flatMap(([key, name]) => {
      const bytes = memory[key as keyof typeof names]
      return bytes < 2 ** 20 ? [] : [`${name} ${bytesText(bytes)}`]
    })
    .join(', ')
}
