/**
 * The work under way, as a fold of the log: from the first model call after a rest to the end of the turn,
 * with all rounds of a goal. The agent's own reports (inbox.progress_checkin, inbox.task_complete) are
 * decided from it.
 */
import type { SessionEvent, Todo } from '@cairn/protocol'

export type Progress = {
  /** RFC 3339; null while nothing is under way. */
  readonly started_at: string | null
  /** RFC 3339: start of the interval to the next check-in. Waiting for a person does not count. */
  readonly since_at: string | null
  /** Model answers since the work began, and how many of them the last check-in covered. */
  readonly iterations: number
  readonly told: number
  readonly last_tool: string | null
  /** The plan; it outlives the work. */
  readonly plan: readonly Todo[]
}

const atRest = { started_at: null, since_at: null, iterations: 0, told: 0, last_tool: null } as const
export const noProgress: Progress = { ...atRest, plan: [] }

export function foldProgress(progress: Progress, event: SessionEvent): Progress {
  switch (event.type) {
    case 'llm.request':
      return progress.started_at === null
        ? { ...progress, started_at: event.created_at, since_at: event.created_at }
        : progress
    case 'llm.response':
      return event.data.turn_id === undefined
        ? progress
        : { ...progress, iterations: progress.iterations + 1 }
    case 'tool.call':
      return { ...progress, last_tool: event.data.name }
    case 'todo.updated':
      return { ...progress, plan: event.data.todos }
    case 'inbox.progress_checkin':
      return { ...progress, since_at: event.created_at, told: progress.iterations }
    case 'ask_user_question.response':
    case 'session.resume':
      return countFrom(progress, event)
    case 'user.message':
      return event.data.synthetic === 'action_completed' ? countFrom(progress, event) : progress
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      return { ...atRest, plan: progress.plan }
    default:
      return progress
  }
}

const countFrom = (progress: Progress, { created_at }: SessionEvent): Progress =>
  progress.started_at === null ? progress : { ...progress, since_at: created_at }
