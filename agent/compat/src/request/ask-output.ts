/** What a client returns as text for a question or an action. */
import { AppError } from '@cairn/protocol'
import { z } from 'zod'
import type { AskOutput } from './command.ts'
import { jsonOf } from './content.ts'

const Responses = z.looseObject({
  responses: z.array(z.object({ question: z.string(), answer: z.string() })).min(1),
})
const Completed = z.looseObject({ completed: z.literal(true), note: z.string().optional() })

/**
 * The text that a client returns for a question or an action (null): JSON, or plain text that answers the
 * only prompt, or is the note of the action.
 */
export function outputOf(
  output: string,
  asked: { questions: readonly { prompt: string }[] } | null,
): AskOutput {
  const given = jsonOf(output)
  if (asked === null) {
    const completed = Completed.safeParse(given)
    const note = completed.success ? completed.data.note : output
    return { completed: true, ...(note === undefined || note.trim() === '' ? {} : { note }) }
  }
  const responses = Responses.safeParse(given)
  if (responses.success) return { responses: responses.data.responses }
  const [only, ...more] = asked.questions
  if (only !== undefined && more.length === 0)
    return { responses: [{ question: only.prompt, answer: output }] }
  throw new AppError(
    'invalid_body',
    'Invalid output: must be the JSON text of {"responses": [{"question", "answer"}]} with every prompt.',
    { extra: { param: 'input' } },
  )
}
