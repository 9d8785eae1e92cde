/** cairn goal: sets the goal of a session, which then works until an evaluator is satisfied. */
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { jsonLine } from './terminal-text.ts'

const RUBRIC = 'The goal is reached as described, and the result was checked.'

export const goal = defineCommand({
  name: 'goal',
  summary: 'Set the goal of a session',
  usage: [
    ['goal SESSION TEXT…', 'the goal to reach'],
    ['  --rubric TEXT', 'how an evaluator grades each turn'],
    ['  --max-iterations N', 'maximum number of turns'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    rubric: { type: 'string', default: RUBRIC },
    'max-iterations': { type: 'string' },
  },
  async run({ values, positionals: [id, ...words] }, io) {
    if (id === undefined) throw new UsageError('Missing session ID')
    const description = words.join(' ').trim()
    if (description === '') throw new UsageError('Missing goal text')
    const most = values['max-iterations']
    if (most !== undefined && !/^[1-9]\d{0,2}$/.test(most))
      throw new UsageError(`Invalid --max-iterations "${most}": must be a positive integer`)
    const { client } = connect(values, io)
    const { events } = await client.call('postEvents', {
      params: { id },
      body: {
        events: [
          {
            type: 'user.define_outcome',
            description,
            rubric: { type: 'text', content: values.rubric },
            ...(most === undefined ? {} : { max_iterations: Number(most) }),
          },
        ],
      },
      idempotencyKey: crypto.randomUUID(),
      signal: io.signal,
    })
    io.out(values.json ? jsonLine(events[0]) : `${events[0]?.outcome_id ?? ''}\n`)
    return EXIT.ok.code
  },
})
