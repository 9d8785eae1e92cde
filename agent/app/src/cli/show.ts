/** cairn show: one session with its activity, what it waits for, its cost and its last answer. */
import {
  formatSpent,
  formatTokens,
  type InboxItem,
  plural,
  type SessionEvent,
  type SessionState,
} from '@cairn/protocol'
import { EXIT, type ExitCode } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { gateLines, openItems, questionLines, questionsOf } from './open-items.ts'
import { readLog } from './read-log.ts'
import { jsonLine, oneLine, printable } from './terminal-text.ts'
import { waitsText } from './waits-text.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show the state, the pending items and the last answer of a session',
  usage: [
    ['show SESSION', 'print state, pending items and last answer'],
    ['  --json', '{session, waiting, answer}'],
    [' ', 'exit code 6 when the session is waiting for an answer, an approval or an action'],
  ],
  options: CONNECT_OPTIONS,
  async run({ values, positionals }, io) {
    const [id] = takePositionals(positionals, ['session ID'])
    const { client } = connect(values, io)
    const { signal } = io
    const session = await client.call('getSession', { params: { id }, signal })
    const waiting = await openItems(client, { session_id: id, signal })
    let answer: string | null = null
    for await (const events of readLog(client, id, signal)) answer = lastAnswer(events) ?? answer
    if (values.json) io.out(jsonLine({ session, waiting, answer }))
    else {
      const { state, open_children, agent, model, cost_usd, unpriced, input_tokens, output_tokens } = session
      io.out(
        [
          `${oneLine(session.title ?? '(untitled)', 200)}`,
          `${state}${waitsText({ state, open_children })}`,
          [
            `agent ${agent}`,
            ...(model === null ? [] : [model]),
            plural(session.message_count, 'message'),
            plural(session.tool_call_count, 'tool call'),
            `${formatTokens(input_tokens + output_tokens)} tokens`,
            formatSpent(cost_usd, unpriced),
          ].join(' · '),
          ...waitingLines(waiting),
          ...(answer === null ? [] : ['', printable(answer)]),
        ].join('\n') + '\n',
      )
    }
    return codeOf(session.state)
  },
})

/** What a session waits for and reports. News with the same words is one line with their number. */
export function waitingLines(items: readonly Pick<InboxItem, 'kind' | 'title' | 'payload'>[]): string[] {
  const asked: string[] = []
  const news = new Map<string, number>()
  for (const item of items) {
    const question = questionsOf(item)
    const lines = question === null ? gateLines(item) : questionLines(question)
    asked.push(...lines)
    const words = `${item.kind}: ${oneLine(item.title, 200)}`
    if (lines.length === 0) news.set(words, (news.get(words) ?? 0) + 1)
  }
  return [...asked, ...[...news].map(([words, n]) => (n === 1 ? words : `${words} (${n} times)`))]
}

/** The exit code says whether a person is needed now. */
export const codeOf = (state: SessionState): ExitCode =>
  state.startsWith('needs_') ? EXIT.waiting.code : EXIT.ok.code

const lastAnswer = (events: readonly SessionEvent[]): string | undefined =>
  events
    .flatMap(event =>
      event.type === 'llm.response' && event.data.message.content !== '' ? [event.data.message.content] : [],
    )
    .at(-1)
