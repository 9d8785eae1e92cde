import { createHash } from 'node:crypto'
import type { ModelMessage } from './provider.ts'

/**
 * Gives every tool call of an answer an id that is unique in the conversation. The server's id is kept if
 * possible; missing, empty and repeated ids are derived from the conversation, so a repeated model call over
 * the same conversation yields the same ids.
 */
export function callIds(messages: readonly ModelMessage[]): (wished: string, index: number) => string {
  const taken = new Set(
    messages.flatMap(message =>
      message.role === 'assistant' ? (message.tool_calls ?? []).map(call => call.id) : [],
    ),
  )
  let conversation: string | undefined
  return (wished, index) => {
    if (wished !== '' && !taken.has(wished)) {
      taken.add(wished)
      return wished
    }
    conversation ??= createHash('sha256').update(JSON.stringify(messages)).digest('hex')
    const id = `call_${createHash('sha256').update(`${conversation}:${index}`).digest('hex').slice(0, 24)}`
    taken.add(id)
    return id
  }
}
