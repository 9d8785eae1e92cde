/** A process that dies at any of its writes: the mail is answered, and what was sent twice has one id. */
import { rounds } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { KINDS, type Kind, logOf, sessionsOf } from '../bench.ts'
import { type Death, mortalStore } from '../mortal-store.ts'
import { startEmail } from './start-email.ts'

/** One mail while the first process dies as told; a second one goes on. Returns the writes of the first. */
async function liveThrough(kind: Kind, death: Death | null): Promise<number> {
  const bench = await startEmail({ kind, config: { disclosure: { level: 'basic' } } })
  const { store, post, write, open, start, advance } = bench
  await (await open()).stop()
  write('hello')
  const mortal = mortalStore(store, death)
  const first = await start(mortal.store).catch((error: unknown) => {
    if (death === null) throw error
    return null
  })
  if (death !== null) {
    await mortal.died
    await first?.stop()
    advance(31_000)
    await start()
  }
  const logs = async () => Promise.all((await sessionsOf(store)).map(({ id }) => logOf(store, id)))
  await expect.poll(() => post.got.length, { timeout: 30_000 }).toBeGreaterThan(0)
  await expect
    .poll(async () => (await logs()).flat().filter(({ type }) => type === 'disclosure.presented').length)
    .toBe(1)
  const [log, ...others] = await logs()
  expect(others).toEqual([])
  expect(log?.filter(({ type }) => type === 'user.message')).toHaveLength(1)
  expect(new Set(post.got.map(({ messageId }) => messageId)).size).toBe(1)
  for (const { text } of post.got)
    expect(text).toMatch(/^You are talking to greeter, an AI system[\s\S]*echo: Subject: A question\s+hello/)
  return mortal.calls()
}

test.each(KINDS)(
  'on %s a kill at every write loses no mail, and copies of an answer have one id and the disclosure',
  { timeout: 300_000 },
  async kind => {
    const writes = await liveThrough(kind, null)
    expect(writes).toBeGreaterThan(8)
    const step = kind === 'sqlite' ? rounds(4, 1) : rounds(8, 1)
    for (let at = 3; at <= writes; at += step)
      for (const when of ['before', 'after'] as const) await liveThrough(kind, { at, when })
  },
)
