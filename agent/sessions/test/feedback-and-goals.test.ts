import {
  archiveSession,
  sessionCompleted,
  confirmDisclosure,
  defineOutcomes,
  findSession,
  giveFeedback,
  mayAccess,
  visibleTo,
} from '@cairn/sessions'
import { emptyCapabilities, FOLD_VERSION, type Folded, foldGoal, writeSnapshot } from '@cairn/state'
import { expect, test, vi } from 'vitest'
import { admin, alice, bob, foreign, judge, robot, setUp, START, stranger, types } from './desk.ts'

const response = foreign('llm.response', {
  message: { role: 'assistant', content: 'hi' },
  model: 'm',
  input_tokens: 1,
  output_tokens: 1,
  reasoning_tokens: 0,
  cache_read_tokens: 0,
  finish_reason: 'stop',
  context_window: 1,
})
const expert = foreign('expert.result', { expert: 'sql', success: true, iterations_used: 1, content: 'c' })

/** Promise 14.9: A rating of an answer is `user.feedback`; a rating of an expert endorses or overrides it. */
test('a rating of an answer writes user.feedback, and one of an expert endorses or overrides it', async () => {
  await using desk = await setUp()
  const rate = async (event_id: number, rating: 'up' | 'down') =>
    giveFeedback(desk.deps, {
      session_id: desk.session.id,
      event_id,
      rating,
      reason: 'good',
      principal: alice,
    })
  const answer = await desk.write([response])
  expect(await rate(answer, 'up')).toEqual({ event_id: 2, event_type: 'user.feedback', source: 'user' })
  expect((await desk.last())?.data).toEqual({
    target_event_id: 1,
    rating: 'up',
    source: 'user',
    rated_by_user_id: 'alice',
    reason: 'good',
  })
  const consulted = await desk.write([expert])
  expect(await rate(consulted, 'up')).toMatchObject({ event_type: 'expert.endorse' })
  expect(await rate(consulted, 'down')).toMatchObject({ event_type: 'expert.override' })
  expect((await desk.last())?.data).toMatchObject({
    expert: 'sql',
    rating: 'down',
    target_event_id: consulted,
  })
})

test('a service account rates as a judge, and a second rating is a new event', async () => {
  await using desk = await setUp()
  const event_id = await desk.write([response])
  await giveFeedback(desk.deps, { session_id: desk.session.id, event_id, rating: 'up', principal: judge })
  await giveFeedback(desk.deps, {
    session_id: desk.session.id,
    event_id,
    rating: 'down',
    score: 0.2,
    criteria: { tone: 0.1 },
    principal: judge,
  })
  expect((await desk.last())?.data).toEqual({
    target_event_id: event_id,
    rating: 'down',
    source: 'judge',
    rated_by_service_account_id: 'judge',
    score: 0.2,
    criteria: { tone: 0.1 },
  })
  expect(types(await desk.events())).toEqual(['llm.response', 'user.feedback', 'user.feedback'])
  expect(await desk.row()).toMatchObject({ wake_id: 0 })
})

test('only answers can be rated', async () => {
  await using desk = await setUp()
  const event_id = await desk.write([sessionCompleted('completed', 'w')])
  await expect(
    giveFeedback(desk.deps, { session_id: desk.session.id, event_id, rating: 'up', principal: alice }),
  ).rejects.toMatchObject({ code: 'wrong_target', message: expect.stringContaining('session.complete') })
  await expect(
    giveFeedback(desk.deps, { session_id: desk.session.id, event_id: 99, rating: 'up', principal: alice }),
  ).rejects.toMatchObject({ code: 'not_found' })
})

const rubric = { type: 'text', content: 'it works' } as const

/** Promise 14.10: A goal set through the API writes `user.define_outcome`, with at most 20 iterations. */
test('a goal defined through the API is clamped, and work on it starts', async () => {
  await using desk = await setUp()
  await desk.write([sessionCompleted('completed', 'w')])
  const [goal] = await defineOutcomes(desk.deps, desk.session.id, [
    { description: 'Ship it', rubric, max_iterations: 500 },
  ])
  const events = await desk.events()
  expect(types(events).slice(1)).toEqual(['session.resume', 'user.define_outcome', 'user.message'])
  expect(events[2]?.data).toEqual({
    description: 'Ship it',
    rubric,
    max_iterations: 20,
    outcome_id: goal?.outcome_id,
    processed_at: new Date(START).toISOString(),
  })
  expect(events[3]?.data).toEqual({
    content: 'Ship it',
    synthetic: 'outcome_kickoff',
    outcome_id: goal?.outcome_id,
  })
  expect(goal).toMatchObject({ type: 'user.define_outcome', event_id: 3 })
})

test('several goals are defined together or not at all, and work starts on the last', async () => {
  await using desk = await setUp()
  const goals = await defineOutcomes(desk.deps, desk.session.id, [
    { description: 'one', rubric },
    { description: 'two', rubric, max_iterations: 3 },
  ])
  expect(goals.map(goal => goal.event_id)).toEqual([1, 2])
  expect((await desk.last())?.data).toMatchObject({ content: 'two', outcome_id: goals[1]?.outcome_id })
  await archiveSession(desk.deps, await desk.row())
  const before = await desk.events()
  await expect(
    defineOutcomes(desk.deps, desk.session.id, [{ description: 'three', rubric }]),
  ).rejects.toMatchObject({ code: 'wrong_state' })
  expect(await desk.events()).toEqual(before)
})

test('a second goal is rejected while one is active, and accepted after that one is cleared', async () => {
  await using desk = await setUp()
  const [first] = await defineOutcomes(desk.deps, desk.session.id, [{ description: 'one', rubric }])
  const before = await desk.events()
  const second = () => defineOutcomes(desk.deps, desk.session.id, [{ description: 'two', rubric }])
  await expect(second()).rejects.toMatchObject({
    code: 'wrong_state',
    message: expect.stringContaining('/goal clear'),
  })
  await desk.write([foreign('outcome.paused', { outcome_id: first!.outcome_id, reason: 'user-paused' })])
  await expect(second()).rejects.toMatchObject({ code: 'wrong_state' })
  expect(types(await desk.events())).toEqual([...types(before), 'outcome.paused'])
  await desk.write([foreign('outcome.cleared', { outcome_id: first!.outcome_id })])
  expect(await second()).toHaveLength(1)
})

test('one of two concurrent goals is set', async () => {
  await using desk = await setUp()
  const both = await Promise.allSettled(
    ['one', 'two'].map(description => defineOutcomes(desk.deps, desk.session.id, [{ description, rubric }])),
  )
  expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(types(await desk.events())).toEqual(['user.define_outcome', 'user.message'])
})

test('accepting the disclosure writes an event with its level and person', async () => {
  await using desk = await setUp()
  await confirmDisclosure(desk.deps, desk.session.id, 'full', alice)
  expect((await desk.last())?.data).toEqual({
    level: 'full',
    source: 'web_banner',
    principal_user_id: 'alice',
  })
})

test('accepting the disclosure again writes no event, and another person or level writes one', async () => {
  await using desk = await setUp()
  const accept = (level: string, who = alice) => confirmDisclosure(desk.deps, desk.session.id, level, who)
  const first = await accept('basic')
  expect(await accept('basic')).toBe(first)
  expect(await desk.events()).toHaveLength(1)
  await accept('full')
  await accept('basic', admin)
  await accept('full')
  expect(await desk.events()).toHaveLength(3)
})

test('users see their own sessions, admins and org tokens those of the organisation, and no one foreign ones', async () => {
  await using desk = await setUp()
  expect([alice, admin, judge].map(who => mayAccess(who, desk.session))).toEqual([true, true, true])
  expect([bob, robot, stranger].map(who => mayAccess(who, desk.session))).toEqual([false, false, false])
  await expect(findSession(desk.store, bob, desk.session.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(visibleTo(alice)).toEqual({ org_id: 'org', created_by: 'alice' })
  expect(visibleTo(admin)).toEqual({ org_id: 'org' })
})

test('an active goal is detected from the session snapshot and the later events', async () => {
  await using desk = await setUp()
  const define = (description: string) =>
    defineOutcomes(desk.deps, desk.session.id, [{ description, rubric: { type: 'text', content: 'r' } }])
  await define('first')
  const events = await desk.events()
  const last_id = events.at(-1)?.id ?? 0
  const goal = events.reduce(foldGoal, null)
  const body = writeSnapshot<Folded>({ ...emptyCapabilities, goal, last_id })
  await desk.store.snapshots.save(desk.session.id, { version: FOLD_VERSION, last_id, body })
  const read = vi.spyOn(desk.store.events, 'read')
  await expect(define('second')).rejects.toThrow('"first"')
  expect(read.mock.calls.map(([, after]) => after)).toEqual([last_id])
  await desk.write([foreign('outcome.cleared', { outcome_id: goal?.outcome_id })])
  await expect(define('second')).resolves.toHaveLength(1)
})
