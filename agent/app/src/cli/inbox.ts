/** cairn inbox: lists what agents ask of people, and answers the items that are not approvals. */
import type { InboxItem } from '@cairn/protocol'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { openItems } from './open-items.ts'
import { jsonLine, oneLine } from './terminal-text.ts'

export const inbox = defineCommand({
  name: 'inbox',
  summary: 'List inbox items, complete an action, or acknowledge an item',
  usage: [
    ['inbox', 'list pending items: ID, kind, session, title'],
    ['  --all', 'include resolved items'],
    ['  --session ID', 'items of one session only'],
    ['inbox done ITEM [NOTE…]', 'mark the action as done; the agent receives the note'],
    ['inbox ack ITEM', 'mark an informational item as read'],
    [' ', 'use cairn answer for questions and cairn approve for tool calls'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    all: { type: 'boolean', default: false },
    session: { type: 'string', short: 's' },
  },
  async run({ values, positionals: [action, ...rest] }, io) {
    const { client } = connect(values, io)
    const { signal } = io
    if (action === undefined) {
      const items = await openItems(client, { session_id: values.session, all: values.all, signal })
      io.out(values.json ? jsonLine(items) : items.map(line).join(''))
      if (items.length === 0) io.note('No pending items.')
      return EXIT.ok.code
    }
    if (action !== 'done' && action !== 'ack')
      throw new UsageError(`Unknown action "${action}": must be done or ack`)
    const [item_id, ...words] = action === 'ack' ? takePositionals(rest, ['item ID']) : rest
    if (item_id === undefined) throw new UsageError('Missing item ID')
    const note = words.join(' ')
    const item =
      action === 'ack'
        ? await client.call('ackInboxItem', { params: { item_id }, signal })
        : await client.call('respondInbox', {
            params: { item_id },
            body: { completed: true, ...(note !== '' && { note }) },
            signal,
          })
    io.out(values.json ? jsonLine(item) : `${item.id}  ${item.status}\n`)
    return EXIT.ok.code
  },
})

const line = ({ id, kind, status, session_id, title }: InboxItem): string =>
  `${id}  ${kind.padEnd(16)}  ${status.padEnd(12)}  session ${session_id}  ${oneLine(title, 100)}\n`
