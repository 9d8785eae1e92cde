/**
 * Programs whose weights come from a disk layer by layer: cut into stages, one for each layer and direction,
 * and what of the base is in memory meanwhile.
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
  /** The frozen weights that each stage reads whole, and those it reads rows of, by name. */
  weights: { whole: string[]; rows: string[] }[]
}

/** The programs of a run whose base is streamed. */
export type StreamedPlans = {
  /** What was cut: the program of a step with everything recomputed. */
  whole: { program: Program; policy: RecomputePolicy }
  step: StreamedProgram
  evaluation: StreamedProgram | undefined
  /** Bytes of the largest stage of any program. */
  arenaBytes: number
  /** What stages carry, of all micro-batches of a window. */
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

/** Cuts a program, of which everything is recomputed, where it goes over to another layer. */
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

/** The layer that a weight, an adapter or a history is of; one group for all that is of none. */
function layerOf(input: string): string | undefined {
  const layer = /(?:^|:)model\.layers\.(\d+)\./.exec(input)?.[1]
  return layer ?? (/(?:^|:)(?:model|lm_head)\./.test(input) ? 'outside' : undefined)
}

/** The most of the base that is in memory at a time: what a stage reads, and what the next one will. */
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

/** The most that a weight takes on its way into the file that it is streamed from. */
export function spoolingBytes(checkpoint: Checkpoint, base: readonly BaseWeight[]): number {
  return convertedWeights(checkpoint, base).reduce((max, weight) => {
    const whole = byteLength(weight.dtype, weight.shape)
    const matrix = whole / (weight.shape.length === 3 ? (weight.shape[0] ?? 1) : 1)
    // One matrix as the file has it, and put together; all of them where they are written to.
    return Math.max(max, whole + Math.max(loadingBytes(checkpoint, weight), 2 * matrix))
  }, 0)
}
