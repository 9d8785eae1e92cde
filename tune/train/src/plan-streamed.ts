/**
 * Programs whose weights are streamed from a disk layer by layer: cut into stages, one for each layer and
 * direction, with the part of the base that is in memory in each.
 */
import { byteLength } from '@cairn-tune/ops'
import {
  cutIntoStages,
  planMemory,
  recompute,
  type Plan,
  type RecomputePolicy,
  type Program,
  type StagedProgram,
} from '@cairn-tune/program'
import { convertedWeights, loadingBytes, type BaseWeight, type Checkpoint } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { MicroStep } from './record-step.ts'
import { rowBytes } from './resident-weights.ts'

export type StreamedProgram = StagedProgram & {
  plans: Plan[]
  /** The largest arena of a stage. */
  arenaBytes: number
  /** The frozen weights that each stage reads as a whole, and those of which it reads rows, by name. */
  weights: { whole: string[]; rows: string[] }[]
}

/** The programs of a run with a streamed base. */
export type StreamedPlans = {
  /** The uncut program of a step, with everything recomputed. */
  whole: { program: Program; policy: RecomputePolicy }
  step: StreamedProgram
  evaluation: StreamedProgram | undefined
  /** Bytes of the largest stage of any program. */
  arenaBytes: number
  /** Bytes carried between stages, for all micro-batches of a window. */
  carriedBytes: number
}

export function planAllStreamed(
  { program, base }: Pick<MicroStep, 'program' | 'base'>,
  evaluated: Program | undefined,
  { gradient_accumulation_steps: window }: TrainConfig,
): StreamedPlans {
  const blocks = new Set(program.steps.flatMap(({ block }) => block ?? []))
  const policy = { cheap: blocks, whole: blocks }
  const whole = { program: recompute(program, policy), policy }
  const step = planStreamed(whole.program, base)
  const evaluation = evaluated && planStreamed(evaluated, base)
  const both = evaluation ? [step, evaluation] : [step]
  return {
    whole,
    step,
    evaluation,
    arenaBytes: Math.max(...both.map(one => one.arenaBytes)),
    carriedBytes: window * Math.max(...both.map(one => one.carriedBytes)),
  }
}

/** Cuts a program with full recomputation at the boundaries between layers. */
function planStreamed(program: Program, base: readonly BaseWeight[]): StreamedProgram {
  const staged = cutIntoStages(program, layerOf)
  const plans = staged.stages.map(stage => planMemory(stage.program))
  const names = new Set(base.map(({ name }) => name))
  return {
    ...staged,
    plans,
    arenaBytes: Math.max(...plans.map(plan => plan.arenaBytes)),
    weights: staged.stages.map(stage => {
      const embedded = new Set(
        stage.program.steps.flatMap(({ op, inputs }) =>
          op === 'embed' ? (inputs['table']?.name ?? []) : [],
        ),
      )
      const read = [...stage.reads].filter(name => names.has(name))
      return {
        whole: read.filter(name => !embedded.has(name)),
        rows: read.filter(name => embedded.has(name)),
      }
    }),
  }
}

/** The layer of a weight, an adapter or a history. Everything outside of layers is one group. */
function layerOf(input: string): string | undefined {
  const layer = /(?:^|:)model\.layers\.(\d+)\./.exec(input)?.[1]
  return layer ?? (/(?:^|:)(?:model|lm_head)\./.test(input) ? 'outside' : undefined)
}

/** Maximum of the base in memory at a time: the weights of a stage and of the next one. */
export function streamedBytes(
  { step, evaluation }: StreamedPlans,
  base: readonly BaseWeight[],
  tokenIds: ReadonlySet<number> | undefined,
): number {
  const weights = new Map(base.map(weight => [weight.name, weight]))
  const bytesOf = (name: string, count: (weight: BaseWeight) => number) => {
    const weight = weights.get(name)
    return weight ? count(weight) : 0
  }
  const whole = ({ dtype, shape }: BaseWeight) => byteLength(dtype, shape)
  const max = (evaluation ? [step, evaluation] : [step]).flatMap(program => {
    const bytes = program.weights.map(
      stage =>
        stage.whole.reduce((sum, name) => sum + bytesOf(name, whole), 0) +
        stage.rows.reduce((sum, name) => sum + bytesOf(name, weight => rowBytes(weight, tokenIds)), 0),
    )
    return bytes.map((own, i) => own + (bytes[i + 1] ?? 0))
  })
  return Math.max(...max)
}

/** Maximum memory to write a weight into the file that it is streamed from. */
export function spoolingBytes(checkpoint: Checkpoint, base: readonly BaseWeight[]): number {
  return convertedWeights(checkpoint, base).reduce((max, weight) => {
    const whole = byteLength(weight.dtype, weight.shape)
    const matrix = whole / (weight.shape.length === 3 ? (weight.shape[0] ?? 1) : 1)
    // One matrix in the file's format and assembled, plus the output for all of them.
    return Math.max(max, whole + Math.max(loadingBytes(checkpoint, weight), 2 * matrix))
  }, 0)
}
