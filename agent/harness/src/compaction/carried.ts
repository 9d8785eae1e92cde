/**
 * What a compaction must not lose, read from the log and not from the conversation: the plan, the goal, what
 * waits for a person. Open questions are not here: their call has no result yet, and until it has nothing is
 * compacted.
 */
import { type EventType, type SessionEvent, type Todo, typesWith } from '@cairn/protocol'
import { foldGoal, type Goal, type GoalState } from '@cairn/state'

type Waiting = { key: string; line: string }
export type CarriedState = {
  todos: readonly Todo[]
  /** A goal that is not reached and not given up. */
  goal: Pick<Goal, 'description' | 'rubric' | 'status'> | null
  waiting: readonly string[]
}

/** The events that the fold looks at; the long ones of a log (answers, results) are not among them. */
export const CARRIED_TYPES: readonly EventType[] = typesWith('carried')

export type Carried = {
  readonly todos: readonly Todo[]
  readonly goal: GoalState
  readonly waiting: readonly Waiting[]
}
export const nothingCarried: Carried = { todos: [], goal: null, waiting: [] }

export function foldCarried(carried: Carried, event: SessionEvent): Carried {
  const { todos, waiting } = carried
  const goal = foldGoal(carried.goal, event)
  const opened = (key: string, line: string): Carried => ({
    todos,
    goal,
    waiting: [...waiting, { key, line }],
  })
  const closed = (key: string): Carried => ({
    todos,
    goal,
    waiting: waiting.filter(item => item.key !== key),
  })
  switch (event.type) {
    case 'todo.updated':
      return { todos: event.data.todos, goal, waiting }
    case 'inbox.governance_gate': {
      const { tool_name, tool_call_id, arguments_excerpt, deny_reason, repeats_tool_call_id } = event.data
      if (repeats_tool_call_id !== undefined) return { todos, goal, waiting }
      return opened(
        tool_call_id,
        `approval of the call of ${tool_name} (${tool_call_id}) with ${arguments_excerpt}: ${deny_reason}. Nobody has decided yet; you are told when somebody has.`,
      )
    }
    case 'inbox.action_required':
      return opened(
        `action:${event.data.title}`,
        `an action: ${event.data.title}. ${event.data.instructions}`,
      )
    case 'user.message': {
      const { synthetic, tool_call_id, content } = event.data
      if (synthetic === 'governance_decision' && tool_call_id !== undefined) return closed(tool_call_id)
      if (synthetic === 'action_completed')
        return {
          todos,
          goal,
          waiting: waiting.filter(
            ({ key }) => !(key.startsWith('action:') && content.endsWith(key.slice('action:'.length))),
          ),
        }
      return { todos, goal, waiting }
    }
    default:
      return { todos, goal, waiting }
  }
}

const LIVE = new Set<Goal['status']>(['active', 'paused'])
export const carriedState = ({ todos, goal, waiting }: Carried): CarriedState => ({
  todos,
  goal: goal !== null && LIVE.has(goal.status) ? goal : null,
  waiting: waiting.map(item => item.line),
})
