/** Converts a conversation to the form that gpt-oss templates read. */
import type { RequestMessage } from '../protocol.ts'

/**
 * Renames thoughts to the template's `thinking`, and splits a message with several calls into one message per
 * call, each followed by its result: the template writes only the first call of a message.
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
      // Text before the calls goes with the first call.
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
