/** cairn sessions: lists the sessions with what each does or waits for. */
import type { Session } from '@cairn/protocol'
import { defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { jsonLine, oneLine } from './terminal-text.ts'
import { TIME_WIDTH, terminalTime } from './terminal-time.ts'
import { waitsText } from './waits-text.ts'

export const sessions = defineCommand({
  name: 'sessions',
  summary: 'List sessions: ID, state, title',
  usage: [
    ['sessions', 'list sessions, newest first'],
    ['sessions WORD…', 'filter by words in title, agent and ID'],
    ['  --limit N', 'maximum number of sessions; default 20'],
    ['  --archived', 'list archived sessions instead'],
    ['  --workers', 'include the sessions of workers'],
    ['  --json', 'full records, as an array'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    limit: { type: 'string', default: '20' },
    archived: { type: 'boolean', default: false },
    workers: { type: 'boolean', default: false },
  },
  async run({ values, positionals }, io) {
    const limit = Number(values.limit)
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw new UsageError(`Invalid --limit "${values.limit}": must be a positive integer`)
    const { client } = connect(values, io)
    const found: Session[] = []
    for (let cursor: string | null | undefined; cursor !== null && found.length < limit;) {
      const page = await client.call('listSessions', {
        query: {
          limit: Math.min(limit - found.length, 200),
          status: values.archived ? 'archived' : undefined,
          parent_id: values.workers ? undefined : 'none',
          text: positionals.length > 0 ? positionals.join(' ') : undefined,
          cursor,
        },
        signal: io.signal,
      })
      found.push(...page.sessions)
      cursor = page.next_cursor
    }
    io.out(values.json ? jsonLine(found) : found.map(line).join(''))
    if (found.length === 0) io.note(positionals.length > 0 ? 'No sessions match.' : 'No sessions.')
    return EXIT.ok.code
  },
})

/** The columns show the state; running workers are added after the title. */
const line = ({ id, state, updated_at, agent, title, open_children }: Session): string =>
  `${id}  ${state.padEnd(14)}  ${terminalTime(updated_at).padEnd(TIME_WIDTH)}  ${oneLine(agent, 20)}  ` +
  `${oneLine(title ?? '(untitled)', 80)}${waitsText({ state, open_children })}\n`
