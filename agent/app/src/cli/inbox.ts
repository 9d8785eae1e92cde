/** cairn inbox: lists what agents ask of people, and answers the items that are not approvals. */
import type { InboxItem } from '@cairn/protocol'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { openItems } from './open-items.ts'
import { jsonLine, oneLine } from './terminal-text.ts'

export const inbox = defineCommand({
  name: 'inbox',
  summary: 'List what waits for a person; complete an action, acknowledge news',
  usage: [
    ['inbox', 'what waits: item, kind, session, title'],
    ['  --all', 'what was answered, too'],
    ['  --session ID', 'of one session only'],
    ['inbox done ITEM [NOTE…]', 'the action is done; the agent is told the note'],
    ['inbox ack ITEM', 'news that was read'],
    [' ', 'questions are answered with cairn answer, calls decided with cairn approve'],
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
      if (items.length === 0) io.note('Nothing waits for a person.')
      return EXIT.ok.code
    }
    if (action !== 'done' && action !== 'ack')
      throw new UsageError(`inbox knows done and ack, got "${action}"`)
    const [item_id, ...words] = action === 'ack' ? takePositionals(rest, ['the id of an item']) : rest
    if (item_id === undefined) throw new UsageError('expected the id of an item')
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
