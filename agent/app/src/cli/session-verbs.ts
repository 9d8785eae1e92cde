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
    does: 'nothing more of the turn is started; the session takes the next message',
    call: (client, options) => client.call('stopSession', options),
  },
  pause: {
    name: 'pause',
    summary: 'Pause a session',
    does: 'its turn stops at once and goes on when it is resumed',
    call: (client, options) => client.call('pauseSession', options),
  },
  resume: {
    name: 'resume',
    summary: 'Resume a paused session, or try a failed one again',
    does: 'it takes up its turn where it was',
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
      ['  --json', 'the record of the session'],
    ],
    options: CONNECT_OPTIONS,
    async run({ values, positionals }, io) {
      const [id] = takePositionals(positionals, ['the id of a session'])
      const { client } = connect(values, io)
      const session = await call(client, { params: { id }, signal: io.signal })
      const note = 'stopped' in session && session.stopped === false ? '  nothing was running' : ''
      io.out(values.json ? jsonLine(session) : `${session.id}  ${session.state}${note}\n`)
      return EXIT.ok.code
    },
  })

export const stop = commandOf(VERBS.stop)
export const pause = commandOf(VERBS.pause)
export const resume = commandOf(VERBS.resume)
