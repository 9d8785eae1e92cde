/** The programs of a run whose experts are divided among ranks. */
import { divideExperts, recompute, type Program, type RecomputePolicy } from '@cairn-tune/program'
import type { TrainConfig } from '../config.ts'
import { isOfExperts, type ExpertShare } from './expert-share.ts'
import { planDivided, type PlannedDivided } from './run-divided.ts'

export type DividedPlans = {
  share: ExpertShare
  /** The undivided program of a step. */
  whole: { program: Program; policy: RecomputePolicy }
  step: PlannedDivided
  evaluation: PlannedDivided | undefined
  /** The largest arena of a stage. */
  stageBytes: number
  /** Bytes between stages of this rank's micro-batch, and between those of experts for each micro-batch. */
  carriedBytes: { own: number; experts: number }
  /** All of it. */
  arenaBytes: number
}

/** Plans a step with as little recomputation as fits, or with all of it. */
export function planAllDivided(
  program: Program,
  evaluated: Program | undefined,
  share: ExpertShare,
  mode: TrainConfig['recompute'],
  budgetBytes: number,
): DividedPlans {
  const blocks = new Set(program.steps.flatMap(({ block }) => block ?? []))
  const all = { cheap: blocks, whole: blocks }
  const none = { cheap: new Set<string>(), whole: new Set<string>() }
  if (mode === 'all') return planWith(program, evaluated, share, all)
  const plain = planWith(program, evaluated, share, none)
  return mode === 'none' || plain.arenaBytes <= budgetBytes ? plain : planWith(program, evaluated, share, all)
}

function planWith(
  program: Program,
  evaluated: Program | undefined,
  share: ExpertShare,
  policy: RecomputePolicy,
): DividedPlans {
  const plan = (one: Program) => planDivided(divideExperts(one, { isStack: isOfExperts, local: share.local }))
  const whole = { program: recompute(program, policy), policy }
  const step = plan(whole.program)
  const evaluation = evaluated && plan(evaluated)
  const both = evaluation ? [step, evaluation] : [step]
  const largest = (of: (one: PlannedDivided) => number) => Math.max(...both.map(of))
  const stageBytes = largest(one => one.arenaBytes)
  const carriedBytes = {
    own: largest(one => one.carriedBytes.own),
    experts: largest(one => one.carriedBytes.experts),
  }
  const arenaBytes = stageBytes + carriedBytes.own + share.ranks * carriedBytes.experts
  return { share, whole, step, evaluation, stageBytes, carriedBytes, arenaBytes }
}
