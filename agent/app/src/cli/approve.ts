/** cairn approve: what waits for a decision, and the decision. */
import type { InboxItem } from '@cairn/protocol'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT } from './exit.ts'
import { oneLine } from './terminal-text.ts'

export const approve = defineCommand({
  name: 'approve',
  summary: 'List tool calls that wait for an approval, and decide them',
  usage: [
    ['approve', 'list what waits'],
    ['approve ITEM', 'approve: this very call may run, once'],
    ['approve --reject ITEM', 'deny it'],
    ['  --session ID', 'list one session only'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    reject: { type: 'boolean', default: false },
    session: { type: 'string', short: 's' },
  },
  async run({ values, positionals }, io) {
    const { client } = connect(values, io)
    if (positionals.length === 0 && !values.reject) {
      const items: InboxItem[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await client.call('listInbox', {
          query: { kind: 'governance_gate', status: 'pending', session_id: values.session, cursor },
          signal: io.signal,
        })
        items.push(...page.items)
        cursor = page.next_cursor
      }
      io.out(values.json ? `${JSON.stringify(items)}\n` : items.map(line).join(''))
      if (items.length === 0) io.note('Nothing waits for an approval.')
      return EXIT.ok.code
    }
    const [item_id] = takePositionals(positionals, ['the id of an item'])
    const item = await client.call('respondInbox', {
      params: { item_id },
      body: { decision: values.reject ? 'reject' : 'approve' },
      signal: io.signal,
    })
    io.out(
      values.json ? `${JSON.stringify(item)}\n` : `${item.id}  ${values.reject ? 'rejected' : 'approved'}\n`,
    )
    return EXIT.ok.code
  },
})

const line = ({ id, session_id, created_at, payload }: InboxItem): string =>
  `${id}  ${created_at}  session ${session_id}  ${oneLine(String(payload['tool_name'] ?? ''), 40)} ${oneLine(String(payload['arguments_excerpt'] ?? ''), 100)}\n`
