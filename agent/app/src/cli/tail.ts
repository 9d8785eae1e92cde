/** cairn tail: follows a session's log. */
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { eventLine } from './event-line.ts'
import { EXIT, UsageError } from '../exit.ts'
import { outageNotes } from './outage.ts'
import { jsonLine } from './terminal-text.ts'

export const tail = defineCommand({
  name: 'tail',
  summary: 'Follow the events of a session',
  usage: [
    ['tail SESSION', 'print one line per event, from the beginning, until interrupted'],
    ['  --after ID', 'only events after this one'],
    [
      '  --type TYPE',
      'only this event type, or all types with a prefix that ends in a dot ("tool."); repeatable',
    ],
    ['  --json', 'full records, one per line'],
  ],
  options: { ...CONNECT_OPTIONS, after: { type: 'string' }, type: { type: 'string', multiple: true } },
  async run({ values, positionals }, io) {
    const [session] = takePositionals(positionals, ['session ID'])
    const after = values.after ?? '0'
    if (!/^\d+$/.test(after))
      throw new UsageError(`Invalid --after "${after}": must be a non-negative integer`)
    const { client } = connect(values, io)
    // The server has no filter by type (contract 3.3).
    const wanted = (type: string): boolean =>
      values.type === undefined ||
      values.type.some(want => (want.endsWith('.') ? type.startsWith(want) : type === want))
    for await (const batch of client.events(session, {
      after: Number(after),
      signal: io.signal,
      onState: outageNotes(io.note),
    })) {
      io.out(
        batch
          .filter(event => wanted(event.type))
          .map(event => (values.json ? jsonLine(event) : `${eventLine(event)}\n`))
          .join(''),
      )
      await io.flushed()
    }
    return EXIT.interrupted.code
  },
})
