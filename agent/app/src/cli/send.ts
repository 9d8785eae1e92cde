/** cairn send: sends a message to a new or existing session and streams the answer. */
import type { SessionState } from '@cairn/protocol'
import { EXIT, UsageError } from '../exit.ts'
import { type Ending, createAnswerText } from './answer-text.ts'
import { defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { outageNotes } from './outage.ts'
import { jsonLine, printable } from './terminal-text.ts'
import { skillsOf, unknownCommandText } from './unknown-command.ts'

const WAITS: Partial<Record<SessionState, string>> = {
  needs_answer: 'waiting for an answer',
  needs_approval: 'waiting for an approval',
  needs_action: 'waiting for an action',
}

/** A failed or stopped turn determines the exit code, whatever else is open. */
export function endingOf(end: Ending, state: SessionState): Ending {
  const status = WAITS[state]
  return status === undefined || end.code === EXIT.failure.code ? end : { status, code: EXIT.waiting.code }
}

export const send = defineCommand({
  name: 'send',
  summary: 'Send a message and print the answer as it streams',
  usage: [
    ['send TEXT…', 'send to a new session; without TEXT, the message is read from stdin'],
    ['send --session ID TEXT…', 'send to an existing session'],
    [
      '  --new-message',
      'send a message although a question is pending; the question expires. ' +
        'Without this flag, TEXT answers the question',
    ],
    ['  --agent NAME, --title TEXT', 'agent and title of the new session'],
    ['  --no-wait', 'exit without waiting for the answer'],
    ['  --quiet', 'do not print notes about tools and questions'],
    ['  --json', 'print {session_id, event_id, status, state, answer} at the end instead of text'],
    [' ', 'exit code 6 when the session is waiting for an answer, an approval or an action'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    session: { type: 'string', short: 's' },
    agent: { type: 'string' },
    title: { type: 'string' },
    'new-message': { type: 'boolean', default: false },
    'no-wait': { type: 'boolean', default: false },
    quiet: { type: 'boolean', short: 'q', default: false },
  },
  async run({ values, positionals }, io) {
    const content =
      positionals.length > 0 ? positionals.join(' ') : io.stdinIsTty ? '' : (await io.readStdin()).trimEnd()
    if (content === '') throw new UsageError('Missing message: pass it as arguments or on stdin')
    if (values.session !== undefined && (values.agent !== undefined || values.title !== undefined))
      throw new UsageError('--agent and --title apply to a new session only')
    const { client } = connect(values, io)
    const { signal } = io
    const note = (line: string): void => {
      if (!values.quiet && !values.json) io.note(line)
    }
    const unknown = await unknownCommandText(content, skillsOf(client, signal))
    if (unknown !== null) throw new UsageError(unknown)

    const session =
      values.session === undefined
        ? await client.call('createSession', {
            body: {
              channel: 'cli',
              ...(values.agent === undefined ? {} : { agent: values.agent }),
              ...(values.title === undefined ? {} : { title: values.title }),
            },
            idempotencyKey: crypto.randomUUID(),
            signal,
          })
        : await client.call('getSession', { params: { id: values.session }, signal })
    const sent = await client.call('sendMessage', {
      params: { id: session.id },
      body: { content, ...(values['new-message'] ? { on_question: 'pass_over' as const } : {}) },
      idempotencyKey: crypto.randomUUID(),
      signal,
    })
    note(`session ${session.id}`)
    if (sent.taken_as === 'answer') note('answered the pending question')
    if (values['no-wait'] || session.status === 'paused') {
      if (session.status === 'paused')
        note('the session is paused: your message is saved and runs when the session is resumed')
      const status = session.status === 'paused' ? 'paused' : 'sent'
      if (values.json) io.out(`${JSON.stringify({ ...sent, status, answer: null })}\n`)
      else if (values['no-wait']) io.out(`${session.id}\n`)
      return values['no-wait'] ? EXIT.ok.code : EXIT.waiting.code
    }

    const text = createAnswerText()
    for await (const batch of client.events(session.id, {
      after: sent.event_id,
      signal,
      onState: outageNotes(note),
    })) {
      for (const event of batch) {
        const printed = text.take(event)
        if (printed.text !== undefined && !values.json)
          io.out(io.stdoutIsTty ? printable(printed.text) : printed.text)
        if (printed.note !== undefined) note(printed.note)
        if (printed.end === undefined) continue
        // Only the server knows what waits for a person: an approval outlives the turn that asked for it.
        const { state } = await client.call('getSession', { params: { id: session.id }, signal })
        const { status, code } = endingOf(printed.end, state)
        if (values.json) io.out(jsonLine({ ...sent, status, state, answer: text.answer() }))
        return code
      }
    }
    note(`interrupted; the turn is still running: cairn tail ${session.id} --after ${sent.event_id}`)
    return EXIT.interrupted.code
  },
})
