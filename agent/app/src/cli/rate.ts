/** cairn rate: a person's rating of an answer, used to select training data (docs/feedback.md). */
import type { SessionEvent } from '@cairn/protocol'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { EXIT, NotFoundError, UsageError } from '../exit.ts'
import { readLog } from './read-log.ts'

export const rate = defineCommand({
  name: 'rate',
  summary: 'Rate an answer up or down',
  usage: [
    ['rate SESSION up|down', 'rate the last answer'],
    ['  --event ID', 'rate another answer, or the result of an expert'],
    [
      '  --item N',
      'rate a message of an imported conversation: its position in `history` of the event, from 0',
    ],
    ['  --reason TEXT', 'why'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    event: { type: 'string' },
    item: { type: 'string' },
    reason: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [session, rating] = takePositionals(positionals, ['session ID', 'up or down'])
    if (rating !== 'up' && rating !== 'down')
      throw new UsageError(`Invalid rating "${rating}": must be up or down`)
    if (values.event !== undefined && !/^[1-9]\d*$/.test(values.event))
      throw new UsageError(`Invalid --event "${values.event}": must be an event ID`)
    const { client } = connect(values, io)
    const { signal } = io
    if (values.item !== undefined && (values.event === undefined || !/^\d{1,6}$/.test(values.item)))
      throw new UsageError(`Invalid --item "${values.item}": must be a position, together with --event`)
    const answer =
      values.event === undefined
        ? lastAnswer((await Array.fromAsync(readLog(client, session, signal))).flat())
        : {
            event_id: values.event,
            ...(values.item === undefined ? {} : { history_item: Number(values.item) }),
          }
    if (answer === null) throw new NotFoundError(`Session ${session} has no answer to rate yet.`)
    const { event_id, ...item } = answer
    const body = {
      rating,
      ...item,
      ...(values.reason === undefined ? {} : { reason: values.reason }),
    } as const
    const made = await client.call('giveFeedback', {
      params: { id: session, event_id },
      body,
      idempotencyKey: crypto.randomUUID(),
      signal,
    })
    io.out(
      values.json
        ? `${JSON.stringify({ session_id: session, target_event_id: Number(event_id), rating, ...made })}\n`
        : `event ${event_id}  ${rating}\n`,
    )
    return EXIT.ok.code
  },
})

/** The reply of a slash command is not an answer and never part of an example. */
function lastAnswer(log: readonly SessionEvent[]): { event_id: string; history_item?: number } | null {
  for (const event of log.toReversed()) {
    if (event.type === 'llm.response' && event.data.finish_reason !== 'command')
      return { event_id: event.id.toString() }
    if (event.type !== 'user.message' || event.data.imported === undefined) continue
    const at = (event.data.history ?? []).findLastIndex(message => message['role'] === 'assistant')
    if (at !== -1) return { event_id: event.id.toString(), history_item: at }
  }
  return null
}
