/**
 * The capabilities of the agent, in the order in which the turn asks them. A new one is a folder of its own, its
 * events, a row of CAPABILITY_FOLDS in @cairn/state for what it keeps of the log, and a row here.
 */
import type { Config } from '@cairn/protocol'
import { advisor } from './advisor/capability.ts'
import { announcements } from './announcements/capability.ts'
import type { Clock } from './clock.ts'
import { commandCapabilities } from './commands/capability.ts'
import { compaction } from './compaction/capability.ts'
import { experts } from './experts/capability.ts'
import { goalContinuation, goalGrading } from './goals/capability.ts'
import type { Models } from './llm/registry.ts'
import type { Log } from './log.ts'
import { sagas } from './saga/capability.ts'
import { skills } from './skills/capability.ts'
import type { SkillCatalogue } from './skills/catalogue.ts'
import type { AskSettings, Capability } from './turn/capability.ts'
import type { Asking } from './turn/next-step.ts'
import type { Position } from './turn/position.ts'

export type CapabilityDeps = {
  config: Config
  models: Models
  clock: Clock
  random: () => number
  report: Log
  /** The skills of the deployment and those that the user accepted. */
  catalogue: SkillCatalogue
  /** What the service keeps across sessions: the memory of a user, titles. */
  lasting: readonly Capability[]
}

export function openCapabilities(deps: CapabilityDeps): readonly Capability[] {
  const { commands, waiting_commands } = commandCapabilities(deps.catalogue)
  return [
    ...deps.lasting,
    skills(deps.catalogue),
    experts(deps),
    commands,
    advisor,
    goalGrading,
    waiting_commands,
    goalContinuation,
    compaction,
    sagas,
    announcements,
  ]
}

/** The table with the settings of one turn bound, as `nextStep` takes it. */
export const bindAsks = (table: readonly Capability[], settings: AskSettings): Asking[] =>
  table.flatMap(({ name, asks }) => (asks ? [{ name, asks: asks(settings) }] : []))

/** Whether something goes before whatever the position asks for. */
export const goesFirst =
  (asking: readonly Asking[]) =>
  (position: Position): boolean =>
    asking.some(({ asks }) => (asks.first?.(position) ?? null) !== null)
