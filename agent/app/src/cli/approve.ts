/** cairn approve: shows pending approvals and decides on them. */
import type { InboxItem } from '@cairn/protocol'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT } from '../exit.ts'
import { decide, gateLines, openItems } from './open-items.ts'
import { jsonLine, oneLine } from './terminal-text.ts'
import { TIME_WIDTH, terminalTime } from './terminal-time.ts'

export const approve = defineCommand({
  name: 'approve',
  summary: 'List pending tool calls, and approve or reject them',
  usage: [
    ['approve', 'list pending approvals'],
    ['approve ITEM', 'approve this call once'],
    ['approve --reject ITEM', 'reject it'],
    ['  --session ID', 'approvals of one session only'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    reject: { type: 'boolean', default: false },
    session: { type: 'string', short: 's' },
  },
  async run({ values, positionals }, io) {
    const { client } = connect(values, io)
    if (positionals.length === 0 && !values.reject) {
      const wanted = { kind: 'governance_gate', session_id: values.session, signal: io.signal } as const
      const items = await openItems(client, wanted)
      io.out(values.json ? jsonLine(items) : items.map(line).join(''))
      if (items.length === 0) io.note('No pending approvals.')
      return EXIT.ok.code
    }
    const [item_id] = takePositionals(positionals, ['item ID'])
    const asked = await client.call('getInboxItem', { params: { item_id }, signal: io.signal })
    // With --json stdout has the whole item, and stderr is only for errors.
    if (!values.json) for (const text of gateLines(asked)) io.note(text)
    const item = await decide(client, asked, values.reject ? 'reject' : 'approve', io.signal)
    io.out(values.json ? jsonLine(item) : `${item.id}  ${values.reject ? 'rejected' : 'approved'}\n`)
    return EXIT.ok.code
  },
})

const line = ({ id, session_id, created_at, payload }: InboxItem): string =>
  `${id}  ${terminalTime(created_at).padEnd(TIME_WIDTH)}  session ${session_id}  ` +
  `${oneLine(String(payload['tool_name'] ?? ''), 40)} ` +
  `${oneLine(String(payload['arguments_excerpt'] ?? ''), 100)}\n`
