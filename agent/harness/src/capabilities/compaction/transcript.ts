/** The older part of a conversation as one bounded text for the summary model. Pure. */
import { clip } from '@cairn/protocol'
import type { ConversationEntry, ConversationMessage } from '@cairn/state'
import { isSummary, textOfSummary } from './summary-message.ts'

/** Long results are cut to their beginning and end, which identify them. */
const RESULT_START = 1200
const RESULT_END = 400
const ARGUMENTS = 600

export function transcribe(entries: readonly ConversationEntry[], maxChars: number): string {
  const blocks = entries.map(({ message }) => describe(message))
  const whole = blocks.reduce((sum, block) => sum + block.length + 2, 0)
  if (whole <= maxChars) return blocks.join('\n\n')
  // Keep the beginning, which states the task, and the end, which states the progress; cut the middle.
  const first = clip(blocks[0] ?? '', Math.floor(maxChars / 3))
  const limit = maxChars - first.length - 100
  const kept: string[] = []
  let used = 0
  for (const block of blocks.slice(1).toReversed()) {
    if (used + block.length + 2 > limit) {
      if (kept.length === 0) kept.push(clip(block, Math.max(1, limit)))
      break
    }
    used += block.length + 2
    kept.unshift(block)
  }
  return [first, `[… ${blocks.length - 1 - kept.length} messages left out …]`, ...kept].join('\n\n')
}

function describe(message: ConversationMessage): string {
  switch (message.role) {
    case 'user': {
      const images = message.images?.length ? `\n[${message.images.length} images]` : ''
      return isSummary(message) ? textOfSummary(message.content) : `USER:\n${message.content}${images}`
    }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(
        call => `[calls ${call.function.name} ${clip(call.function.arguments, ARGUMENTS)}]`,
      )
      return ['ASSISTANT:', ...(message.content === '' ? [] : [message.content]), ...calls].join('\n')
    }
    case 'tool':
      return `RESULT:\n${shortenResult(message.content)}`
  }
}

function shortenResult(content: string): string {
  if (content.length <= RESULT_START + RESULT_END) return content
  const start = clip(content, RESULT_START)
  const end = content.slice(-RESULT_END).replace(/^[\uDC00-\uDFFF]/, '')
  return `${start}\n[… ${content.length - start.length - end.length} characters left out …]\n${end}`
}
