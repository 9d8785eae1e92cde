/** A website visitor costs one request, so the usage per address and per website is limited. */
import { readdir } from 'node:fs/promises'
import { HEADERS } from '@cairn/protocol'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { createBudgets, type SiteLimits } from '../../src/website/budgets.ts'
import { makeBench, sessionsOf } from '../bench.ts'
import { SITE, visit } from '../website/visit.ts'

const HOUR_MS = 3_600_000
const WIDE = { visitors_max: 1_000, messages_max: 1_000, mb_max: 1_000 }

async function startSite(settings: object = {}) {
  const site = {
    platform: 'website' as const,
    origins: [SITE],
    access: 'open' as const,
    agent: 'greeter',
    ...settings,
  }
  const bench = await makeBench('sqlite', {}, {}, { only: { site } })
  const channels = await bench.start()
  const [connection] = await bench.store.channels.listConnections('org_1')
  const key = `cairn_wk_${connection!.id}`
  const open = (address?: string) => visit(channels, { key }, null, address)
  return { bench, channels, open, key }
}
/** The rejection that `ask` throws. */
const refused = async (
  work: Promise<unknown>,
): Promise<{ code: string; message: string; retryAfterS: number }> => {
  const error = await work.then(
    () => null,
    (error: { code: string; message: string; extra: Record<symbol, Record<string, string>> }) => error,
  )
  if (error === null) throw new Error('it was taken')
  return {
    code: error.code,
    message: error.message,
    retryAfterS: Number(error.extra[HEADERS]?.['retry-after']),
  }
}

test('new visitors from one address are limited, and other addresses are unaffected', async () => {
  const { bench, open } = await startSite({ per_address_hour: { ...WIDE, visitors_max: 3 } })
  const count = rounds(10, 200)
  const outcomes = await Promise.allSettled(Array.from({ length: count }, () => open()))
  const taken = outcomes.filter(({ status }) => status === 'fulfilled').length
  tally('fresh visitors from one address', count, taken === 3 ? 0 : 1)
  expect(taken).toBe(3)
  expect(await sessionsOf(bench.store)).toHaveLength(3)
  const told = await refused(open())
  expect(told).toMatchObject({
    code: 'rate_limited',
    message: 'More than 3 new visitors within an hour from one address. Try again later.',
  })
  expect(told.retryAfterS).toBeGreaterThan(3_500)
  expect((await open('198.51.100.7')).begun.status).toBe(201)
  // A conversation without a message has no workspace.
  expect((await readdir(bench.workspacesDir)).filter(name => name !== 'secrets.key')).toEqual([])
})

test('a returning visitor is not counted as new, and visitors of one address share its message limit', async () => {
  const { channels, open, key } = await startSite({
    per_address_hour: { ...WIDE, visitors_max: 2, messages_max: 3 },
  })
  const [ann, bob] = [await open(), await open()]
  for (let times = 0; times < 5; times++) expect((await visit(channels, { key }, ann.cookie)).id).toBe(ann.id)
  for (const by of [ann, bob, ann]) expect((await by.say('hello')).status).toBe(202)
  expect(await refused(bob.say('hello'))).toMatchObject({
    message: 'More than 3 messages and files within an hour from one address. Try again later.',
  })
  expect(await refused(ann.post('uploads', { query: 'name=a.txt', body: 'x' }))).toMatchObject({
    code: 'rate_limited',
  })
})

test('all visitors share the daily token limit, and the operator is notified once', async () => {
  // The worker of the test counts two tokens per answer.
  const { bench, open } = await startSite({ per_day: { tokens_max: 2 } })
  const [ann, bob] = [await open(), await open('198.51.100.7')]
  expect((await ann.say('hello')).status).toBe(202)
  await expect.poll(async () => (await bench.store.sessions.get(ann.id))?.output_tokens).toBe(1)
  for (const by of [bob, ann])
    expect(await refused(by.say('and now?'))).toMatchObject({
      code: 'rate_limited',
      message: 'This chat has reached its limit for today. Try again later.',
    })
  expect(bench.lines.filter(line => line.includes('reached its budget for 24 hours'))).toHaveLength(1)
})

test('rejections count nothing, windows use a monotonic clock, and bytes of all addresses count', () => {
  let time = 0
  const report = () => undefined
  const budgets = createBudgets({ store: { sessions: { get: async () => null } }, report }, () => time)
  const limits = (more: Partial<SiteLimits['per_day']> = {}): SiteLimits => ({
    per_address_hour: { ...WIDE, mb_max: 2 },
    per_day: { ...WIDE, tokens_max: 1_000, ...more },
  })
  const site = (id: string, more = {}) => ({ connection: { id, name: id } as never, limits: limits(more) })
  const send = (address: string, bytes: number, at = site('a', { mb_max: 5 })) =>
    budgets.charge(at, address, { messages: 1, bytes })
  send('one', 1_500_000)
  for (let times = 0; times < 50; times++) expect(() => send('one', 1_000_000)).toThrow('More than 2 MB')
  // The rejected bytes were not counted, so what fits is accepted.
  send('one', 500_000)
  send('two', 2_000_000)
  expect(() => send('three', 1_500_000)).toThrow('has reached its limit for today')
  send('three', 1_000_000)
  // Another website has its own limit.
  send('three', 2_000_000, site('b'))
  time += HOUR_MS - 1
  expect(() => send('one', 1)).toThrow()
  time += 24 * HOUR_MS
  send('one', 2_000_000)
})

test('requests from new addresses evict old addresses but not the daily counts', () => {
  const report = () => undefined
  const budgets = createBudgets({ store: { sessions: { get: async () => null } }, report }, () => 0)
  const count = rounds(25_000, 200_000)
  const limits = { per_address_hour: WIDE, per_day: { ...WIDE, visitors_max: count, tokens_max: 1 } }
  const site = { connection: { id: 'a', name: 'a' } as never, limits }
  for (let at = 0; at < count; at++) budgets.charge(site, `address ${at}`, { visitors: 1 })
  expect(() => budgets.charge(site, 'one more', { visitors: 1 })).toThrow('has reached its limit for today')
  tally('visitors from ever new addresses', count, 0)
})
