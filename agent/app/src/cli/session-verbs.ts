/** cairn stop, pause, resume: control a running session. */
import type { CairnClient } from '@cairn/client'
import type { Session } from '@cairn/protocol'
import { EXIT } from '../exit.ts'
import { type Command, defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { jsonLine } from './terminal-text.ts'

type Options = { params: { id: string }; signal: AbortSignal }
type Verb = {
  name: string
  summary: string
  does: string
  call: (client: CairnClient, options: Options) => Promise<Session>
}

const VERBS = {
  stop: {
    name: 'stop',
    summary: 'Stop the running turn of a session',
    does: 'end the turn at once; the session still accepts messages',
    call: (client, options) => client.call('stopSession', options),
  },
  pause: {
    name: 'pause',
    summary: 'Pause a session',
    does: 'interrupt the running turn; it continues when the session is resumed',
    call: (client, options) => client.call('pauseSession', options),
  },
  resume: {
    name: 'resume',
    summary: 'Resume a paused session, or retry a failed one',
    does: 'continue the interrupted turn, or retry the failed one',
    async call(client, options) {
      const { status } = await client.call('getSession', options)
      return client.call(status === 'failed' ? 'retrySession' : 'resumeSession', options)
    },
  },
} as const satisfies Record<string, Verb>

const commandOf = ({ name, summary, does, call }: Verb): Command =>
  defineCommand({
    name,
    summary,
    usage: [
      [`${name} SESSION`, does],
      ['  --json', 'full session record'],
    ],
    options: CONNECT_OPTIONS,
    async run({ values, positionals }, io) {
      const [id] = takePositionals(positionals, ['session ID'])
      const { client } = connect(values, io)
      const session = await call(client, { params: { id }, signal: io.signal })
      const note = 'stopped' in session && session.stopped === false ? '  no turn was running' : ''
      io.out(values.json ? jsonLine(session) : `${session.id}  ${session.state}${note}\n`)
      return EXIT.ok.code
    },
  })

export const stop = commandOf(VERBS.stop)
export const pause = commandOf(VERBS.pause)
export const resume = commandOf(VERBS.resume)
