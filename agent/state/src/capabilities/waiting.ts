/**
 * What waits for a person while the turn continues, as a fold of the log: gates and actions. Open questions
 * are not included: their call has no result yet.
 */
import { isBesideTurns, type SessionEvent } from '@cairn/protocol'

/** `line` is how the model reads about it. */
export type Waiting = { readonly key: string; readonly line: string }

export const nothingWaiting: readonly Waiting[] = []
/** Maximum number of undecided items; the newest are kept. */
const MAX_WAITING = 100

const ACTION = 'action:'
/** A call that waits for a person's approval. */
export const isApproval = ({ key }: Waiting): boolean => !key.startsWith(ACTION)

export function foldWaiting(waiting: readonly Waiting[], event: SessionEvent): readonly Waiting[] {
  switch (event.type) {
    case 'inbox.governance_gate': {
      const { tool_name, tool_call_id, arguments_excerpt, deny_reason, repeats_tool_call_id, run_id } =
        event.data
      // The model does not wait for what a coding agent asks.
      if (repeats_tool_call_id !== undefined || run_id !== undefined) return waiting
      return opened(
        waiting,
        tool_call_id,
        `approval of the call of ${tool_name} (${tool_call_id}) with ${arguments_excerpt}: ` +
          `${deny_reason}. The decision is pending; you get a message when it is made.`,
      )
    }
    case 'inbox.action_required': {
      const { title, instructions, action_type } = event.data
      // The model has already read what led to it.
      if (isBesideTurns(action_type)) return waiting
      return opened(waiting, `${ACTION}${title}`, `an action: ${title}. ${instructions}`)
    }
    case 'user.message': {
      const { synthetic, tool_call_id, content } = event.data
      if (synthetic === 'governance_decision' && tool_call_id !== undefined)
        return waiting.filter(({ key }) => key !== tool_call_id)
      return synthetic === 'action_completed'
        ? waiting.filter(({ key }) => !(key.startsWith(ACTION) && content.endsWith(key.slice(ACTION.length))))
        : waiting
    }
    // The actions expire with the turn that waited for them.
    case 'session.stopped':
      return waiting.filter(isApproval)
    default:
      return waiting
  }
}

const opened = (waiting: readonly Waiting[], key: string, line: string): readonly Waiting[] => [
  ...waiting.slice(1 - MAX_WAITING),
  { key, line },
]
