/** What the evaluator sees of the work: the end of the conversation, bounded. Pure. */
import { clip } from '@cairn/protocol'
import type { Conversation, ConversationMessage } from '@cairn/state'

const PART_CHARS = 4000

export function quoteConversation({ entries }: Conversation, maxChars: number): string {
  const parts: string[] = []
  let left = maxChars
  for (const { message } of entries.toReversed()) {
    const part = show(message)
    if (part.length > left && parts.length > 0) {
      parts.push('[what came before is left out]')
      break
    }
    parts.push(part.slice(0, left))
    left -= part.length
  }
  return parts.toReversed().join('\n\n')
}

function show(message: ConversationMessage): string {
  switch (message.role) {
    case 'user':
      return `[user] ${clip(message.content, PART_CHARS)}`
    case 'tool':
      return `[tool result] ${clip(message.content, PART_CHARS)}`
    case 'assistant':
      return [
        `[agent] ${clip(message.content, PART_CHARS)}`,
        ...(message.tool_calls ?? []).map(
          call => `[agent calls ${call.function.name}] ${clip(call.function.arguments, PART_CHARS)}`,
        ),
      ].join('\n')
  }
}
