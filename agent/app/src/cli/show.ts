/** cairn show: one session with its activity, what it waits for, its cost and its last answer. */
import { formatSpent, formatTokens, type SessionEvent, type SessionState } from '@cairn/protocol'
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
          `agent ${agent}${model === null ? '' : ` · ${model}`} · ${session.message_count} messages · ` +
            `${session.tool_call_count} tools · ${formatTokens(input_tokens + output_tokens)} tokens · ` +
            formatSpent(cost_usd, unpriced),
          ...waiting.flatMap(item => {
            const asked = questionsOf(item)
            const lines = asked === null ? gateLines(item) : questionLines(asked)
            return lines.length > 0 ? lines : [`${item.kind}: ${oneLine(item.title, 200)}`]
          }),
          ...(answer === null ? [] : ['', printable(answer)]),
        ].join('\n') + '\n',
      )
    }
    return codeOf(session.state)
  },
})

/** The exit code says whether a person is needed now. */
export const codeOf = (state: SessionState): ExitCode =>
  state.startsWith('needs_') ? EXIT.waiting.code : EXIT.ok.code

const lastAnswer = (events: readonly SessionEvent[]): string | undefined =>
  events
    .flatMap(event =>
      event.type === 'llm.response' && event.data.message.content !== '' ? [event.data.message.content] : [],
    )
    .at(-1)
