/**
 * cairn chat: a session at the terminal. It follows a turn until the turn is over or waits for a person; then
 * the next line is a message, an answer or a decision, depending on the session's state.
 */
import type { CairnClient } from '@cairn/client'
import type { InboxItem, Session } from '@cairn/protocol'
import { EXIT, type ExitCode } from '../exit.ts'
import { createAnswerText } from './answer-text.ts'
import { type Io, defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { decide, gateLines, openItems, questionLines, questionsOf } from './open-items.ts'
import { outageNotes } from './outage.ts'
import type { Terminal } from './read-terminal.ts'
import { oneLine, printable } from './terminal-text.ts'
import { skillsOf, unknownCommandText } from './unknown-command.ts'

export const chat = defineCommand({
  name: 'chat',
  summary: 'Chat with an agent in the terminal',
  usage: [
    ['chat', 'start a new session; print answers as they stream, with questions and approvals'],
    ['chat SESSION', 'continue an existing session'],
    ['  --agent NAME', 'agent of the new session'],
    [' ', 'Ctrl-C stops the turn or exits; /resume continues after a pause or a failure; /quit exits'],
  ],
  options: { ...CONNECT_OPTIONS, agent: { type: 'string' } },
  async run({ values, positionals }, io) {
    const { client } = connect(values, io)
    const session =
      positionals.length === 0
        ? await client.call('createSession', {
            body: { channel: 'cli', ...(values.agent === undefined ? {} : { agent: values.agent }) },
            idempotencyKey: crypto.randomUUID(),
          })
        : await client.call('getSession', {
            params: { id: takePositionals(positionals, ['session ID'])[0] },
          })
    io.note(`session ${session.id}`)
    const terminal = io.terminal()
    try {
      return await talk({ client, io, terminal, id: session.id }, session)
    } finally {
      terminal.close()
    }
  },
})

type Talk = { client: CairnClient; io: Io; terminal: Terminal; id: string }

async function talk(at: Talk, first: Session): Promise<ExitCode> {
  const { client, terminal, id, io } = at
  let left = false
  let cursor = first.last_event_id
  // Follow a running session first.
  if (first.state === 'running') cursor = await follow(at, cursor)
  for (;;) {
    terminal.onInterrupt(() => {
      left = true
      terminal.close()
    })
    const session = await client.call('getSession', { params: { id } })
    const acted = await act(at, session)
    if (acted === 'leave') break
    if (acted === 'resumed') cursor = await follow(at, cursor)
  }
  io.note(`the session is kept; continue it with: cairn chat ${id}`)
  return left ? EXIT.interrupted.code : EXIT.ok.code
}

type Acted = 'resumed' | 'nothing' | 'leave'

/** Reads one line from the person, for whatever the session waits for. */
async function act(at: Talk, session: Session): Promise<Acted> {
  const { client, io, terminal, id } = at
  const items = await openItems(client, { session_id: id, signal: new AbortController().signal })
  const gate = items.find(({ kind }) => kind === 'governance_gate')
  if (session.state === 'needs_approval' && gate !== undefined) return decideOn(at, gate)
  const action = items.find(({ kind }) => kind === 'action_required')
  if (session.state === 'needs_action' && action !== undefined) return complete(at, action)
  const question = items.find(({ kind }) => kind === 'input_required')
  const asked = question === undefined ? null : questionsOf(question)
  if (asked !== null) for (const line of questionLines(asked)) io.note(line)

  const line = await terminal.ask(asked === null ? '> ' : 'answer> ')
  if (line === null || line.trim() === '/quit') return 'leave'
  if (line.trim() === '') return 'nothing'
  if (line.trim() === '/resume') return resume(at, session)
  const unknown = await unknownCommandText(line, skillsOf(client), ['resume', 'quit'])
  if (unknown !== null) {
    io.note(unknown)
    return 'nothing'
  }
  const choice =
    asked?.questions.length === 1 ? asked.questions[0]?.choices?.[Number(line) - 1]?.label : undefined
  await client.call('sendMessage', {
    params: { id },
    body: { content: choice ?? line },
    idempotencyKey: crypto.randomUUID(),
  })
  if (session.status !== 'paused') return 'resumed'
  io.note('the session is paused: your message is saved; /resume continues')
  return 'nothing'
}

async function resume({ client, io, id }: Talk, { status }: Session): Promise<Acted> {
  if (status !== 'paused' && status !== 'failed') {
    io.note('nothing to resume')
    return 'nothing'
  }
  await client.call(status === 'failed' ? 'retrySession' : 'resumeSession', { params: { id } })
  return 'resumed'
}

async function decideOn({ client, io, terminal }: Talk, gate: InboxItem): Promise<Acted> {
  for (const line of gateLines(gate)) io.note(line)
  const line = await terminal.ask('Approve this call once? [y/n] ')
  if (line === null || line.trim() === '/quit') return 'leave'
  if (!/^(y|yes|n|no)$/i.test(line.trim())) {
    io.note('type y to approve or n to reject')
    return 'nothing'
  }
  const decision = /^y/i.test(line.trim()) ? 'approve' : 'reject'
  await decide(client, gate, decision, new AbortController().signal)
  io.note(decision === 'approve' ? 'approved' : 'rejected')
  return 'resumed'
}

async function complete({ client, io, terminal }: Talk, action: InboxItem): Promise<Acted> {
  io.note(`? ${oneLine(action.title, 200)}`)
  if (action.body !== null) io.note(printable(action.body))
  const note = await terminal.ask('Press Enter when done; you may add a note> ')
  if (note === null || note.trim() === '/quit') return 'leave'
  await client.call('respondInbox', {
    params: { item_id: action.id },
    body: { completed: true, ...(note.trim() !== '' && { note }) },
  })
  return 'resumed'
}

/** Prints the turn until it is over or waits; Ctrl-C stops it. Returns the id of the last event seen. */
async function follow({ client, io, terminal, id }: Talk, after: number): Promise<number> {
  const text = createAnswerText()
  let cursor = after
  terminal.onInterrupt(() => {
    client.call('stopSession', { params: { id } }).catch((error: unknown) => io.note(String(error)))
  })
  for await (const batch of client.events(id, { after, onState: outageNotes(io.note) }))
    for (const event of batch) {
      cursor = event.id
      const { text: words, note, end } = text.take(event)
      if (words !== undefined) io.out(io.stdoutIsTty ? printable(words) : words)
      // The question is shown again with its choices when it is answered.
      if (
        note !== undefined &&
        event.type !== 'inbox.input_required' &&
        event.type !== 'inbox.governance_gate'
      )
        io.note(note)
      if (end !== undefined) return cursor
    }
  return cursor
}
