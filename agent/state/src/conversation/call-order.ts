/**
 * Puts the results of parallel calls into the order of the calls. The log has them in order of arrival, and
 * many chat templates omit call ids, so the model would take the second result for that of the second call.
 */
import type { ConversationMessage } from './messages.ts'

export function inCallOrder(messages: readonly ConversationMessage[]): ConversationMessage[] {
  const ordered: ConversationMessage[] = []
  let calls: string[] = []
  let results: Extract<ConversationMessage, { role: 'tool' }>[] = []
  const flush = (): void => {
    ordered.push(...results.toSorted((a, b) => calls.indexOf(a.tool_call_id) - calls.indexOf(b.tool_call_id)))
    results = []
  }
  for (const message of messages) {
    if (message.role === 'tool') {
      results.push(message)
      continue
    }
    flush()
    if (message.role === 'assistant') calls = (message.tool_calls ?? []).map(call => call.id)
    ordered.push(message)
  }
  flush()
  return ordered
}
