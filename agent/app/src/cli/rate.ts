/** cairn rate: a person's rating of an answer, used to select training data (docs/feedback.md). */
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
    ['  --reason TEXT', 'why'],
  ],
  options: { ...CONNECT_OPTIONS, event: { type: 'string' }, reason: { type: 'string' } },
  async run({ values, positionals }, io) {
    const [session, rating] = takePositionals(positionals, ['session ID', 'up or down'])
    if (rating !== 'up' && rating !== 'down')
      throw new UsageError(`Invalid rating "${rating}": must be up or down`)
    if (values.event !== undefined && !/^[1-9]\d*$/.test(values.event))
      throw new UsageError(`Invalid --event "${values.event}": must be an event ID`)
    const { client } = connect(values, io)
    const { signal } = io
    // The reply of a slash command is not an answer and never part of an example.
    const answers =
      values.event === undefined
        ? (await Array.fromAsync(readLog(client, session, signal)))
            .flat()
            .filter(event => event.type === 'llm.response' && event.data.finish_reason !== 'command')
        : []
    const event_id = values.event ?? answers.at(-1)?.id.toString()
    if (event_id === undefined) throw new NotFoundError(`Session ${session} has no answer to rate yet.`)
    const body = { rating, ...(values.reason === undefined ? {} : { reason: values.reason }) } as const
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
