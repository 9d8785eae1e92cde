/** cairn workers: the workers of a session as a tree. */
import { type TreeRow, treeRows } from '@cairn/client'
import { formatSpent, formatTokens, type WorkerView } from '@cairn/protocol'
import { EXIT } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { jsonLine, oneLine } from './terminal-text.ts'
import { waitsText } from './waits-text.ts'

export const workers = defineCommand({
  name: 'workers',
  summary: 'List the workers of a session: ID, state, last event, tokens, cost, goal',
  usage: [
    ['workers SESSION', 'list all workers below the session, as a tree'],
    ['  --open', 'only workers that have not reported a result'],
    ['  --json', 'full records, as an array, newest first'],
  ],
  options: { ...CONNECT_OPTIONS, open: { type: 'boolean', default: false } },
  async run({ values, positionals }, io) {
    const [id] = takePositionals(positionals, ['session ID'])
    const { client } = connect(values, io)
    const found: WorkerView[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await client.call('sessionWorkers', {
        params: { id },
        query: { limit: 200, status: values.open ? 'open' : undefined, cursor },
        signal: io.signal,
      })
      found.push(...page.workers)
      cursor = page.next_cursor
    }
    io.out(values.json ? jsonLine(found) : treeRows(found).map(line).join(''))
    if (found.length === 0) io.note(values.open ? 'No active workers.' : 'This session has no workers.')
    return EXIT.ok.code
  },
})

/** How an ended worker ended; what an open one does or waits for. */
const wordOf = ({ status, state, cause, blocked_reason }: WorkerView): string =>
  status === 'open' ? (blocked_reason === null ? state : 'blocked') : (cause ?? 'done')

function line({ worker, level }: TreeRow): string {
  const { worker_id, usage, last_event: last, goal } = worker
  return (
    `${worker_id}  ${wordOf(worker).padEnd(14)}  ${(last?.type ?? '').padEnd(20)}  ` +
    `${formatTokens(usage.input_tokens + usage.output_tokens).padStart(6)}  ` +
    `${formatSpent(usage.cost_usd, usage.unpriced).padStart(8)}  ` +
    `${'  '.repeat(level - 1)}${oneLine(goal ?? '(untitled)', 80)}${waitsText(worker)}\n`
  )
}
