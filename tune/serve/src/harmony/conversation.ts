/** A conversation as templates of gpt-oss read it. */
import type { RequestMessage } from '../protocol.ts'

/**
 * Thoughts under the template's name for them, `thinking`; and a message of several calls as one message for
 * each, with its result behind it: the template writes the first call of a message and leaves out the others.
 */
export function toHarmony(messages: readonly RequestMessage[]): RequestMessage[] {
  const renamed = messages.map(withThinking)
  const made: RequestMessage[] = []
  for (let i = 0; i < renamed.length;) {
    const message = renamed[i++]
    if (!message) break
    const { tool_calls: calls } = message
    if (!calls || calls.length < 2) {
      made.push(message)
      continue
    }
    const results: RequestMessage[] = []
    while (renamed[i]?.role === 'tool') results.push(...renamed.slice(i, ++i))
    const { content, thinking, ...rest } = message
    for (const [at, call] of calls.entries()) {
      // What stands before the calls stands before the first.
      const before = at === 0 ? { content, ...(thinking === undefined ? {} : { thinking }) } : {}
      const own = results.findIndex(({ tool_call_id: id }) => id !== undefined && id === call.id)
      const [result] = results.splice(own < 0 ? 0 : own, 1)
      made.push({ ...rest, ...before, tool_calls: [call] }, ...(result ? [result] : []))
    }
    made.push(...results)
  }
  return made
}

function withThinking({ reasoning_content: thought, ...message }: RequestMessage): RequestMessage {
  return typeof thought === 'string' && thought !== '' && message['thinking'] === undefined
    ? { ...message, thinking: thought }
    : { ...message }
}
