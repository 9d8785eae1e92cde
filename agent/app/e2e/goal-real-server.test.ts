/**
 * Goals over HTTP, end to end, against a third-party model server: by command and through the API, with every
 * documented key.
 */
import { LLMock } from '@copilotkit/aimock'
import type { EventType, SessionEvent } from '@cairn/protocol'
import type { CairnClient } from '@cairn/client'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { makePlace, startService } from './server.ts'
import { endsTurn, isType, newSession, readLog, runTurn, say, waitFor } from './session.ts'

const GRADER = 'You grade the work of another agent'
const REVISE = {
  result: 'needs_revision',
  explanation: 'Only a first try.',
  feedback: 'Write the last line as well.',
}
const SATISFIED = { result: 'satisfied', explanation: 'Every line is there.', feedback: '' }
/** A test keeps this pending to act while the evaluator is running. */
let verdictMayCome = Promise.resolve()
beforeEach(() => {
  verdictMayCome = Promise.resolve()
})

async function start(): Promise<{ client: CairnClient; id: string; mock: LLMock }> {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  mock.addFixture({
    match: { systemMessage: GRADER, userMessage: /all lines/ },
    response: () => verdictMayCome.then(() => ({ content: JSON.stringify(SATISFIED) })),
  })
  mock.addFixture({
    match: { systemMessage: GRADER },
    response: () => verdictMayCome.then(() => ({ content: JSON.stringify(REVISE) })),
  })
  mock.addFixture({ match: { systemMessage: 'You name conversations' }, response: { content: 'A poem' } })
  mock.addFixture({
    match: { userMessage: /The evaluator.s feedback on what is missing:\nWrite the last line/ },
    response: { content: 'Now all lines are written.' },
  })
  mock.addFixture({ match: { userMessage: 'poem' }, response: { content: 'A first try.' } })
  await mock.start()
  onTestFinished(() => mock.stop())
  const provider = { kind: 'openai', base_url: `${mock.url}/v1`, api_key_env: 'SOME_KEY' }
  const place = makePlace({
    config: {
      models: {
        default: 'openai/some-model',
        providers: { openai: provider },
        catalog: { 'openai/some-model': { input: 1, output: 2, context_window: 50_000 } },
      },
    },
  })
  place.env['SOME_KEY'] = 'a-key-of-the-test-that-is-long-enough'
  const { client } = await startService(place)
  return { client, id: await newSession(client), mock }
}

const story = (events: readonly SessionEvent[]): EventType[] =>
  events.map(event => event.type).filter(type => type !== 'llm.delta' && type !== 'session.title_updated')
const TURN: EventType[] = [
  'harness.wake',
  'llm.request',
  'llm.response',
  'iteration.summary',
  'span.outcome_evaluation_start',
  'span.outcome_evaluation_ongoing',
  'span.outcome_evaluation_end',
  'turn.summary',
]
const usage = {
  input_tokens: expect.any(Number) as number,
  output_tokens: expect.any(Number) as number,
  cost_usd: expect.any(Number) as number,
}

/** Checks both rounds of the goal that was defined at the start of these events, key by key. */
function expectTwoRounds(events: readonly SessionEvent[], outcome_id: string): void {
  const only = <T extends EventType>(type: T) => events.filter(isType(type))
  const starts = only('span.outcome_evaluation_start')
  const answers = only('llm.response').filter(event => event.data.turn_id !== undefined)
  expect(starts.map(event => event.data)).toEqual(
    answers.map((answer, iteration) => ({ outcome_id, iteration, response_event_id: answer.id })),
  )
  expect(only('span.outcome_evaluation_ongoing').map(event => event.data)).toEqual([
    { outcome_id, iteration: 0 },
    { outcome_id, iteration: 1 },
  ])
  const ends = only('span.outcome_evaluation_end')
  expect(ends.map(event => event.data)).toEqual([
    {
      outcome_id,
      outcome_evaluation_start_id: starts[0]!.id,
      iteration: 1,
      ...REVISE,
      parse_failed: false,
      ...usage,
    },
    {
      outcome_id,
      outcome_evaluation_start_id: starts[1]!.id,
      iteration: 2,
      ...SATISFIED,
      parse_failed: false,
      ...usage,
    },
  ])
  expect(only('outcome.continuation').map(event => event.data)).toEqual([
    { outcome_id, iteration: 1, status_event_id: ends[0]!.id },
  ])
  expect(only('user.message').at(-1)?.data).toEqual({
    content: expect.stringContaining(REVISE.feedback) as string,
    synthetic: 'outcome_continuation',
    outcome_id,
  })
}

/**
 * Promise 14.10: A goal, by command or API, runs to `satisfied` against a third-party model server with every
 * documented key.
 */
test('a goal by command: emits definition, revision, continuation and success in the specified order', async () => {
  const { client, id } = await start()
  await say(client, id, '/goal Write a poem\nRubric:\nevery line is there')
  await waitFor(client, id, 0, endsTurn)
  const events = await readLog(client, id)
  expect(story(events)).toEqual([
    'user.message',
    'harness.wake',
    'outcome.defined',
    'llm.response',
    'user.message',
    ...TURN.slice(1),
    'outcome.continuation',
    'user.message',
    ...TURN,
    'session.complete',
  ])
  const defined = events.find(isType('outcome.defined'))!
  expect(defined.data).toEqual({
    outcome_id: expect.any(String) as string,
    description: 'Write a poem',
    rubric: { type: 'text', content: 'every line is there' },
    max_iterations: 20,
  })
  expectTwoRounds(events, defined.data.outcome_id)
  expect(events.some(isType('user.define_outcome'))).toBe(false)
})

test('a goal through the API: emits user.define_outcome with clamped limits, then the same rounds', async () => {
  const { client, id } = await start()
  const answer = await client.call('postEvents', {
    params: { id },
    body: {
      events: [
        {
          type: 'user.define_outcome',
          description: 'Write a poem',
          rubric: { type: 'text', content: 'every line is there' },
          max_iterations: 500,
        },
      ],
    },
  })
  await waitFor(client, id, 0, endsTurn)
  const events = await readLog(client, id)
  expect(story(events)).toEqual([
    'user.define_outcome',
    'user.message',
    ...TURN,
    'outcome.continuation',
    'user.message',
    ...TURN,
    'session.complete',
  ])
  const defined = events.find(isType('user.define_outcome'))!
  expect(answer.events).toEqual([
    {
      type: 'user.define_outcome',
      event_id: defined.id,
      outcome_id: defined.data.outcome_id,
      processed_at: defined.data.processed_at,
    },
  ])
  expect(defined.data).toEqual({
    description: 'Write a poem',
    rubric: { type: 'text', content: 'every line is there' },
    max_iterations: 20,
    outcome_id: expect.any(String) as string,
    processed_at: expect.any(String) as string,
  })
  expectTwoRounds(events, defined.data.outcome_id)
  expect(events.some(isType('outcome.defined'))).toBe(false)
})

test('a pause during an evaluation: records the verdict and continues only after the resume', async () => {
  const { client, id } = await start()
  const { promise, resolve } = Promise.withResolvers<void>()
  verdictMayCome = promise
  await say(client, id, '/goal Write a poem')
  await waitFor(client, id, 0, isType('span.outcome_evaluation_ongoing'))
  const asked = await say(client, id, '/goal pause')
  resolve()
  const paused = await waitFor(client, id, asked, isType('outcome.paused'))
  const end = await waitFor(client, id, asked, endsTurn)
  const events = await readLog(client, id)
  const defined = events.find(isType('outcome.defined'))!
  expect(paused.data).toEqual({ outcome_id: defined.data.outcome_id, reason: 'user-paused' })
  expect(events.filter(isType('span.outcome_evaluation_end')).map(event => event.data.result)).toEqual([
    'needs_revision',
  ])
  expect(events.some(isType('outcome.continuation'))).toBe(false)
  await say(client, id, '/goal resume')
  await waitFor(client, id, end.id, endsTurn)
  expect(
    (await readLog(client, id)).filter(isType('span.outcome_evaluation_end')).map(event => event.data.result),
  ).toEqual(['needs_revision', 'satisfied'])
})

test('/goal clear clears an active goal, and reports null without one', async () => {
  const { client, id, mock } = await start()
  const nothing = await runTurn(client, id, '/goal clear')
  expect(nothing.find(isType('outcome.cleared'))?.data).toEqual({ outcome_id: null })
  expect(mock.getRequests()).toEqual([])
  verdictMayCome = new Promise(() => {})
  await say(client, id, '/goal Write a poem')
  const defined = await waitFor(client, id, 0, isType('outcome.defined'))
  const asked = await say(client, id, '/goal clear')
  expect((await waitFor(client, id, asked, isType('outcome.cleared'))).data).toEqual({
    outcome_id: defined.data.outcome_id,
  })
})
