/**
 * Converts session logs to the lines of a training file. The same logs in the same order give identical
 * bytes.
 */
import type { SessionEvent } from '@cairn/protocol'
import { type Trajectory, foldTrajectory } from '@cairn/state'
import { atifTrajectory } from './atif.ts'
import { dpoExamples, isSelected, ktoExamples, sftExample } from './examples.ts'
import type { DefineTool, Selection, TrainingFormat } from './options.ts'

export type LoggedSession = { id: string; agent: string; events: readonly SessionEvent[] }
export type TrainingExport = {
  format: TrainingFormat
  selection: Selection
  define: DefineTool
  /** Version of this program, for ATIF. */ version: string
  redact: (json: string) => string
}

/**
 * One JSON document per line. Pairs need all sessions at once, so only the rated ones are kept in memory for
 * them.
 */
export async function* trainingLines(
  sessions: AsyncIterable<LoggedSession>,
  { format, selection, define, version, redact }: TrainingExport,
): AsyncGenerator<string> {
  const rated: Trajectory[] = []
  for await (const { id, agent, events } of sessions) {
    const trajectory = foldTrajectory(id, events)
    if (!isSelected(trajectory, agent, selection)) continue
    if (format === 'dpo') {
      if (trajectory.ratings.length > 0) rated.push(trajectory)
      continue
    }
    if (format === 'kto') {
      for (const one of ktoExamples(trajectory, selection, define)) yield redact(JSON.stringify(one))
      continue
    }
    const made =
      format === 'sft'
        ? sftExample(trajectory, selection, define)
        : trajectory.ratings.length > 0
          ? atifTrajectory(trajectory, agent, version)
          : null
    if (made !== null) yield redact(JSON.stringify(made))
  }
  for (const pair of dpoExamples(rated, selection, define)) yield redact(JSON.stringify(pair))
}
