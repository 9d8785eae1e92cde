import { expect, test } from 'vitest'
import fc from 'fast-check'
import {
  EVENTS,
  EVENT_TYPES,
  FAMILIES,
  ROUTES,
  decodeEvent,
  familyOf,
  fitsContract,
  writer,
} from '@cairn/protocol'

const messages = writer('messages')
const inbox = writer('inbox')

test('a valid payload becomes a pending event with the same data', () => {
  expect(messages('user.message', { content: 'hello' })).toEqual({
    type: 'user.message',
    data: { content: 'hello' },
  })
})

test('a write rejects an unknown key and names it', () => {
  const withStray = { content: 'hello', colour: 'red' }
  expect(() => messages('user.message', withStray)).toThrow(/\[writer\] user\.message: .*colour/)
})

test('a write rejects a payload without a documented key', () => {
  const gate = {
    tool_name: 'terminal',
    tool_call_id: 'c1',
    arguments_excerpt: '{}',
    deny_reason: 'asks first',
  }
  expect(() => inbox('inbox.governance_gate', gate as never)).toThrow(/policy_id/)
})

test('a writer rejects another producer’s type, at compile time and at run time', () => {
  // @ts-expect-error session.pause is written by lifecycle
  expect(() => messages('session.pause', {})).toThrow(/written by lifecycle/)
})

/** Promise 10.2: No module can write the 14 reserved event types. */
test('a reserved type has no writer: neither the producer nor the type compiles', () => {
  // @ts-expect-error nothing produces reserved types
  expect(() => writer('none')('session.start', {})).not.toThrow()
  // @ts-expect-error session.start is reserved
  expect(() => messages('session.start', {})).toThrow(/written by none/)
})

/** Promise 16.1: Cairn validates a payload exactly on write and loosely on read. */
test('a read ignores unknown keys and returns a record even if its payload is invalid', () => {
  const line = JSON.stringify({
    id: 3,
    session_id: 's',
    type: 'tool.result',
    created_at: '2026-01-01T00:00:00.000Z',
    data: { tool_call_id: 'c', name: 'n', content: '', elapsed_ms: 1, brand_new: true },
  })
  expect(fitsContract(decodeEvent(line))).toBe(true)
  expect(decodeEvent(line).data).toHaveProperty('brand_new', true)
})

test('a line that is not a record is rejected with the reason', () => {
  expect(() => decodeEvent('{"no":"record"}')).toThrow(/not an event record/)
})

test('every payload that a write accepts is accepted on read', () => {
  for (const type of EVENT_TYPES) {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), data => {
        const { write, read } = EVENTS[type]
        if (write.safeParse(data).success) expect(read.safeParse(data).success).toBe(true)
      }),
      { numRuns: 20 },
    )
  }
})

test('both shapes of policy.allowed and of harness.wake are accepted, and a mixture is not', () => {
  const allowed = EVENTS['policy.allowed'].write
  expect(allowed.safeParse({ tool: 't', check: 'governance_gate', timestamp: 1.5 }).success).toBe(true)
  expect(allowed.safeParse({ tool_name: 't', reason: 'human approval', tool_call_id: 'c' }).success).toBe(
    true,
  )
  expect(allowed.safeParse({ tool: 't', reason: 'human approval', tool_call_id: 'c' }).success).toBe(false)
  const wake = EVENTS['harness.wake'].write
  expect(wake.safeParse({ worker_id: 'w', cursor: 0 }).success).toBe(true)
  expect(wake.safeParse({ worker_id: 'w', review_memory: true, review_skills: false }).success).toBe(true)
  expect(wake.safeParse({ worker_id: 'w' }).success).toBe(false)
})

test('a write enforces the limits of 500 characters of an expert task and 20 iterations of a goal', () => {
  const task = (length: number) =>
    EVENTS['expert.delegation'].write.safeParse({
      expert: 'e',
      task: 'x'.repeat(length),
      tools: [],
      max_iterations: 3,
    }).success
  expect([task(500), task(501)]).toEqual([true, false])
  const goal = (max_iterations: number) =>
    EVENTS['outcome.defined'].write.safeParse({
      outcome_id: 'o',
      description: 'd',
      rubric: { type: 'text', content: 'c' },
      max_iterations,
    }).success
  expect([goal(20), goal(21)]).toEqual([true, false])
})

test('every type belongs to a family, and no documented key is declared twice', () => {
  for (const type of EVENT_TYPES) {
    expect(FAMILIES).toContain(familyOf(type))
    expect(
      EVENTS[type].keys.filter(key => (EVENTS[type].extra as readonly string[]).includes(key)),
      type,
    ).toEqual([])
  }
})

test('a messaging channel shows no tool traffic, code progress or policy', () => {
  const shown = EVENT_TYPES.filter(type => EVENTS[type].facts.channel)
  expect(
    shown.filter(type => /^(tool|code\.run_progress|policy|saga|llm\.thinking|harness)/.test(type)),
  ).toEqual([])
})

test('each route has a unique method and path, and poll has no alias', () => {
  const keys = Object.values(ROUTES).map(route => `${route.method} ${route.path}`)
  expect(new Set(keys).size).toBe(keys.length)
  expect(ROUTES.pollEvents).toMatchObject({ access: 'user', alias: false })
})
