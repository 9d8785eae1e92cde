/**
 * The capabilities of the agent, in the order in which the turn asks them. The order is meaning, so each row
 * says why it stands where it stands. A new one consists of a folder, its events, a row of CAPABILITY_FOLDS
 * in @cairn/state for its part of the log, and a row here.
 */
import { advisor } from './advisor/capability.ts'
import { announcements } from './announcements/capability.ts'
import { board } from './board/capability.ts'
import { budgets } from './budgets/capability.ts'
import { codeRuns } from './code/capability.ts'
import { commandCapabilities } from './commands/capability.ts'
import { compaction } from './compaction/capability.ts'
import { workers } from './coordination/capability.ts'
import { tasks } from './tasks/capability.ts'
import { worker } from './worker/capability.ts'
import { fireTimers } from './coordination/timers.ts'
import { experts } from './experts/capability.ts'
import { goalContinuation, goalGrading } from './goals/capability.ts'
import { missionContinuing, missionGrading } from './missions/capability.ts'
import { research } from './research/capability.ts'
import { keepReviews } from './review/capability.ts'
import { sagas } from './saga/capability.ts'
import { schedules } from './schedules/capability.ts'
import { skills } from './skills/capability.ts'
import { rereadSkills, withSkills } from './skills/catalogue.ts'
import { titles } from './titles/capability.ts'
import type { AskSettings, Capability, Claimed } from '../turn/capability.ts'
import type { Asking } from '../turn/asks.ts'
import type { Position } from '../turn/position.ts'
import type { RunnerDeps } from '../runner-deps.ts'

export { createCoding } from './code/coding.ts'

/** Created once per runner; called for each session that it claims, with the runner as the session sees it. */
export function createCapabilities(): (
  claimed: Claimed,
  runner: RunnerDeps,
) => Promise<readonly Capability[]> {
  const reviewsOf = keepReviews()
  return async (claimed, runner) => {
    const { session, report } = claimed
    const reviews = reviewsOf(runner)
    const known = withSkills(await rereadSkills(runner.skillsDir, report), runner.skills)
    const catalogue = await reviews.learned(known, session)
    const { commands, waiting_commands } = commandCapabilities(catalogue, runner.coding)
    return [
      // Its memory of the user is the first part that is added to the system prompt.
      reviews.capability(claimed, catalogue),
      // It asks nothing and adds no tool, so its position does not matter.
      titles(runner, report),
      // Listed in the system prompt after the memory; its tool may be given to experts.
      skills(catalogue),
      // Experts are given only tools of the service and of the rows above, so none below reaches them.
      experts({ ...runner, report }),
      // A run that is under way goes before a command that was sent after it.
      codeRuns(runner, claimed),
      // A pending command goes before the results of workers for which a call waits.
      commands,
      // An accepted report ends the round as completed, also when the budget below is exhausted.
      research(runner, claimed),
      // Calls that wait for workers are closed before the next call; tools of tasks follow those of workers.
      workers(runner, claimed),
      tasks(runner, claimed),
      // It stands here like a report: a budget does not end a worker that has completed its work.
      worker(runner, claimed),
      // Below what ends a turn as completed, above the goals, whose own budgets end it as exhausted as well.
      budgets(claimed),
      // News is written before each call, after the deadline that the budgets set at the first one.
      board(runner, claimed),
      // Asks nothing; its tools follow those of the workers.
      schedules(runner, claimed),
      // Advice comes before the grading: the answer that it changes is the one to be graded.
      advisor,
      goalGrading,
      missionGrading,
      // Between grading and continuation: a cleared conversation was graded first, and the next round
      // starts without it.
      waiting_commands,
      // Both end the turn, so nothing that wants to act at its end may follow them.
      goalContinuation,
      missionContinuing,
      // Measures what the rows above have added to the conversation before a call.
      compaction,
      // Its end is committed before the announcement of the turn's end.
      sagas(runner),
      // Reports what all other rows have done, so it comes last.
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
