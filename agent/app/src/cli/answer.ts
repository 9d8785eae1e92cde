/** cairn answer: shows an agent's question and answers it. */
import { EXIT, NotFoundError, UsageError } from '../exit.ts'
import { defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { answerOf, type Asked, openItems, questionLines, questionsOf } from './open-items.ts'
import { jsonLine } from './terminal-text.ts'

export const answer = defineCommand({
  name: 'answer',
  summary: 'Show the pending question of a session, or answer it',
  usage: [
    ['answer SESSION', 'show the pending question'],
    ['answer SESSION TEXT…', 'answer it; a number selects that choice'],
    [' ', 'if there are several questions, pass one argument for each, in order'],
  ],
  options: CONNECT_OPTIONS,
  async run({ values, positionals: [id, ...texts] }, io) {
    if (id === undefined) throw new UsageError('Missing session ID')
    const { client } = connect(values, io)
    const items = await openItems(client, { session_id: id, kind: 'input_required', signal: io.signal })
    const asked = items[0] === undefined ? null : questionsOf(items[0])
    if (asked === null) throw new NotFoundError(`Session ${id} has no pending question.`)
    if (texts.length === 0) {
      io.out(values.json ? jsonLine(items[0]) : `${questionLines(asked).join('\n')}\n`)
      return EXIT.waiting.code
    }
    const sent = await client.call('answerQuestion', {
      params: { id, tool_call_id: asked.tool_call_id },
      body: { responses: responsesTo(asked, texts) },
      idempotencyKey: crypto.randomUUID(),
      signal: io.signal,
    })
    io.out(values.json ? jsonLine(sent) : `answered  ${id}\n`)
    return EXIT.ok.code
  },
})

/** For a single question, all words form one answer. */
function responsesTo({ questions }: Asked, texts: readonly string[]): { question: string; answer: string }[] {
  const given = questions.length === 1 ? [texts.join(' ')] : texts
  if (given.length !== questions.length)
    throw new UsageError(`Expected ${questions.length} answers (one argument each), got ${given.length}`)
  return questions.map((question, at) => ({
    question: question.prompt,
    answer: answerOf(question, given[at] ?? ''),
  }))
}
