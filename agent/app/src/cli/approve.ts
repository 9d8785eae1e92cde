/** cairn approve: what waits for a decision, and the decision. */
import { exactText, type InboxItem } from '@cairn/protocol'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT } from '../exit.ts'
import { jsonLine, oneLine } from './terminal-text.ts'

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
      io.out(values.json ? jsonLine(items) : items.map(line).join(''))
      if (items.length === 0) io.note('Nothing waits for an approval.')
      return EXIT.ok.code
    }
    const [item_id] = takePositionals(positionals, ['the id of an item'])
    const asked = await client.call('getInboxItem', { params: { item_id }, signal: io.signal })
    // With --json the answer has the whole item; stderr is for an error then.
    if (!values.json) for (const text of shown(asked)) io.note(text)
    const hash = asked.payload['shown_hash']
    const item = await client.call('respondInbox', {
      params: { item_id },
      body: {
        decision: values.reject ? 'reject' : 'approve',
        ...(typeof hash === 'string' && { shown_hash: hash }),
      },
      signal: io.signal,
    })
    io.out(values.json ? jsonLine(item) : `${item.id}  ${values.reject ? 'rejected' : 'approved'}\n`)
    return EXIT.ok.code
  },
})

/** What a gate covers, whole, and what of it cannot be shown. */
function shown({ kind, payload }: InboxItem): string[] {
  if (kind !== 'governance_gate') return []
  const { tool_name: tool, arguments: args, arguments_excerpt: excerpt, redactions } = payload
  return [
    `${oneLine(String(tool), 80)} ` +
      `${exactText(args === undefined ? String(excerpt) : JSON.stringify(args, null, 2))}`,
    ...(typeof redactions === 'number' && redactions > 0
      ? [`${redactions} of its parts look like secrets: they are not shown, and run all the same.`]
      : []),
  ]
}

const line = ({ id, session_id, created_at, payload }: InboxItem): string =>
  `${id}  ${created_at}  session ${session_id}  ${oneLine(String(payload['tool_name'] ?? ''), 40)} ` +
  `${oneLine(String(payload['arguments_excerpt'] ?? ''), 100)}\n`
