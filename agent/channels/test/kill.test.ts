/** A process that dies at any of its writes: nothing that was acknowledged is lost, nothing is there twice. */
import { expect, test } from 'vitest'
import { rounds } from '@cairn/protocol/test/attacks'
import { type Bench, type Kind, KINDS, logOf, makeBench, say, sessionsOf } from './bench.ts'
import { type Death, mortalStore } from './mortal-store.ts'

const SAID = { text: 'hello', id: 'msg_1' }

/** One message while the first process dies as told; a second process goes on. Returns its writes. */
async function liveThrough(bench: Bench, death: Death | null): Promise<number> {
  const { store, callback, start, advance } = bench
  const mortal = mortalStore(store, death)
  // Only a process that is to die may fail to start, or to answer.
  const unlessDying =
    <T>(fallback: T) =>
    (error: unknown): T => {
      if (death === null) throw error
      return fallback
    }
  const first = await start(mortal.store).catch(unlessDying(null))
  const wasTaken = first !== null && (await say(first, SAID).then(() => true, unlessDying(false)))
  if (death === null) {
    await expect.poll(() => callback.seen()).toHaveLength(2)
    await first?.stop()
    return mortal.calls()
  }
  await mortal.died
  await first?.stop()
  advance(31_000)
  const second = await start()
  // The platform sends again what nobody has acknowledged.
  if (!wasTaken) await say(second, SAID)
  await expect.poll(() => callback.seen().length, { timeout: 10_000 }).toBe(2)
  await say(second, { text: 'on', id: 'msg_2' })
  await expect.poll(() => callback.seen().length, { timeout: 10_000 }).toBe(3)
  await second.stop()
  return mortal.calls()
}

async function expectWhole({ store, callback }: Bench, last: string[]): Promise<void> {
  expect(callback.seen().map(({ type, text }) => [type, text])).toEqual([
    ['disclosure', expect.stringContaining('an AI system')],
    ['answer', 'echo: hello'],
    ...last.map(text => ['answer', `echo: ${text}`]),
  ])
  const sessions = await sessionsOf(store)
  expect(sessions).toHaveLength(1)
  const log = await logOf(store, sessions[0]!.id)
  const of = (type: string) => log.filter(event => event.type === type)
  expect(of('user.message').map(({ data }) => (data as { content: string }).content)).toEqual([
    'hello',
    ...last,
  ])
  expect(of('disclosure.presented')).toHaveLength(1)
  expect(await store.check()).toEqual([])
}

const DISCLOSED = { disclosure: { level: 'basic' } } as const

test.each(KINDS)(
  'on %s a kill at every write of the way in and out loses and doubles nothing',
  { timeout: 300_000 },
  async (kind: Kind) => {
    const whole = await makeBench(kind, {}, DISCLOSED)
    const writes = await liveThrough(whole, null)
    await expectWhole(whole, [])
    expect(writes).toBeGreaterThan(12)
    const step = kind === 'sqlite' ? rounds(5, 1) : rounds(9, 1)
    for (let at = 1; at <= writes; at += step)
      for (const when of ['before', 'after'] as const) {
        const bench = await makeBench(kind, {}, DISCLOSED)
        await liveThrough(bench, { at, when })
        await expectWhole(bench, ['on'])
      }
  },
)
