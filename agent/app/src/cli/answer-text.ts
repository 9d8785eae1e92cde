/**
 * What `cairn send` prints while the agent answers: converts the events of the session to text and an ending.
 */
import type { Question, SessionEvent } from '@cairn/protocol'
import type { z } from 'zod'
import { EXIT, type ExitCode } from '../exit.ts'
import { oneLine } from './terminal-text.ts'

export type Printed = {
  /** Answer text, written to stdout unchanged. */
  text?: string
  /** A message for the person, on a separate line. */
  note?: string
  /** The command ends here. */
  end?: Ending
}
export type Ending = { code: ExitCode; status: string }

/**
 * Deltas are best effort and the response is authoritative: it completes the printed text or is printed
 * again.
 */
export function createAnswerText(): { take: (event: SessionEvent) => Printed; answer: () => string } {
  let printed = ''
  let answer = ''
  return {
    answer: () => answer,
    take(event) {
      switch (event.type) {
        case 'llm.delta': {
          const text = event.data.content ?? ''
          if (event.data.reset) {
            const broken = printed === '' ? {} : { text: '\n', note: 'retrying the model call' }
            printed = text
            return { ...broken, ...(text === '' ? {} : { text: `${broken.text ?? ''}${text}` }) }
          }
          printed += text
          return text === '' ? {} : { text }
        }
        case 'llm.response': {
          const { content } = event.data.message
          const shown = printed
          printed = ''
          if (content === '') return shown === '' ? {} : { text: '\n' }
          answer = content
          if (content.startsWith(shown)) return { text: `${content.slice(shown.length)}\n` }
          return { text: `\n${content}\n` }
        }
        case 'tool.call':
          return { note: `· ${event.data.name} ${oneLine(JSON.stringify(event.data.arguments), 100)}` }
        case 'inbox.governance_gate':
          return {
            note:
              `? ${event.data.tool_name} needs approval: ` +
              `${oneLine(event.data.arguments_excerpt, 100)} (cairn approve)`,
          }
        case 'inbox.input_required':
          return {
            note: asked(event.data.questions),
            end: { code: EXIT.waiting.code, status: 'waiting for an answer' },
          }
        case 'inbox.action_required':
          return {
            note: `? ${event.data.title}: ${event.data.instructions}`,
            end: { code: EXIT.waiting.code, status: 'waiting for an action' },
          }
        case 'session.pause':
          return { note: 'session paused', end: { code: EXIT.waiting.code, status: 'paused' } }
        case 'session.stopped':
          return {
            note: `stopped: ${event.data.reason}`,
            end: { code: EXIT.failure.code, status: 'stopped' },
          }
        case 'session.fail':
          return {
            note: `failed (${event.data.error_category}): ${event.data.error}`,
            end: { code: EXIT.failure.code, status: 'failed' },
          }
        case 'session.complete': {
          const { reason } = event.data
          return {
            ...(reason === 'completed' ? {} : { note: `ended: ${reason}` }),
            end: { code: EXIT.ok.code, status: reason },
          }
        }
        default:
          return {}
      }
    },
  }
}

const asked = (questions: readonly z.infer<typeof Question>[]): string =>
  questions
    .map(
      ({ prompt, choices }) =>
        `? ${prompt}${choices?.length ? ` (${choices.map(({ label }) => label).join(' / ')})` : ''}`,
    )
    .join('\n')
