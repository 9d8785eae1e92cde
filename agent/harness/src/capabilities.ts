/**
 * The capabilities of the agent, in the order in which the turn asks them. A new one consists of a folder,
 * its events, a row of CAPABILITY_FOLDS in @cairn/state for its part of the log, and a row here.
 */
import { advisor } from './advisor/capability.ts'
import { announcements } from './announcements/capability.ts'
import { board } from './coordination/board.ts'
import { budgets } from './budgets/capability.ts'
import { codeRuns } from './code/capability.ts'
import { commandCapabilities } from './commands/capability.ts'
import { compaction } from './compaction/capability.ts'
import { workers } from './coordination/capability.ts'
import { fireTimers } from './coordination/timers.ts'
import { experts } from './experts/capability.ts'
import { goalContinuation, goalGrading } from './goals/capability.ts'
import { missionContinuing, missionGrading } from './missions/capability.ts'
import { research } from './research/capability.ts'
import { keepReviews } from './review/capability.ts'
import { sagas } from './saga/capability.ts'
import { schedules } from './schedules/capability.ts'
import { skills } from './skills/capability.ts'
import { rereadSkills } from './skills/catalogue.ts'
import { titles } from './titles.ts'
import type { AskSettings, Capability, Claimed } from './turn/capability.ts'
import type { Asking } from './turn/next-step.ts'
import type { Position } from './turn/position.ts'
import type { RunnerDeps } from './runner-deps.ts'

/** Created once per runner; called for each session that it claims. */
export function createCapabilities(runner: RunnerDeps): (claimed: Claimed) => Promise<readonly Capability[]> {
  const reviews = keepReviews(runner)
  return async claimed => {
    const { session, report } = claimed
    const catalogue = await reviews.learned(await rereadSkills(runner.skillsDir, report), session)
    const { commands, waiting_commands } = commandCapabilities(catalogue, runner.coding)
    return [
      reviews.capability(claimed, catalogue),
      titles(runner, report),
      skills(catalogue),
      experts({ ...runner, report }),
      codeRuns(runner, claimed),
      commands,
      research(runner, claimed),
      workers(runner, claimed),
      budgets(claimed),
      board(runner, claimed),
      schedules(runner, claimed),
      advisor,
      goalGrading,
      missionGrading,
      waiting_commands,
      goalContinuation,
      missionContinuing,
      compaction,
      sagas(runner),
      announcements,
    ]
  }
}

/** Periodic work of a runner for its capabilities, independent of sessions. */
export const maintenanceTasks = (
  runner: RunnerDeps,
): readonly { what: string; run: () => Promise<void> }[] => [
  { what: 'firing timers', run: () => fireTimers(runner) },
]

/** The table with one turn's settings bound, as `nextStep` takes it. */
export const bindAsks = (table: readonly Capability[], settings: AskSettings): Asking[] =>
  table.flatMap(({ name, asks }) => (asks ? [{ name, asks: asks(settings) }] : []))

/** Whether a capability has work that goes before the position's next step. */
export const goesFirst =
  (asking: readonly Asking[]) =>
  (position: Position): boolean =>
    asking.some(({ asks }) => (asks.first?.(position) ?? null) !== null)
