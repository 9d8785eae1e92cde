/**
 * A process that dies before or after any of its writes, or whose store fails once there, on every platform
 * and both stores: no acknowledged message is lost, each is one `user.message`, people see messages in the
 * order of the log, and there are no more copies than docs/channels/README.md allows. A write is the boundary
 * of the work before it: each call that the platform accepted is followed by one.
 */
import type { Channels } from '@cairn/channels'
import { RUN_ALL, SAMPLE } from '@cairn/protocol/test/sample'
import { afterAll, expect, test } from 'vitest'
import { type Away, KINDS, type Kind, makeBench, putAway } from '../bench.ts'
import { type Death, deathsOf, mortalStore } from '../mortal-store.ts'
import { expectSound, isOver } from './sound.ts'
import { meet } from './stage.ts'
import { type OpenStage, ways } from './stages.ts'

const SAID = ['one', 'two']
/** Faults per platform in `npm test`. */
const FAULTS: Record<Kind, number> = { sqlite: 2, postgres: 1 }
const AT_ONCE = 4
const PATIENCE = { timeout: 60_000 }

type Life = { calls: string[]; wasReached: boolean; copies: number }

async function liveThrough(kind: Kind, open: OpenStage, death: Death | null): Promise<Life> {
  const stage = await open()
  const { settings, env } = stage
  const config = { disclosure: { level: 'basic' } } as const
  const away: Away = [stage.close]
  const said: string[] = []
  try {
    const bench = await makeBench(kind, {}, config, { only: { talk: settings }, env, away, lines: said })
    await meet(bench, stage)
    for (const text of SAID) await stage.say(text)
    const mortal = mortalStore(bench.store, death)
    // Only a process that is about to die may fail to start or to answer.
    const unlessDying = (error: unknown): null => {
      if (mortal.isReached()) return null
      throw error
    }
    const first = await bench.start(mortal.store).catch(unlessDying)
    const goOn = async (channels: Channels): Promise<boolean> => {
      await stage.bring(channels).catch(unlessDying)
      return mortal.isDead() ? false : isOver(bench, stage, SAID)
    }
    let last = first
    if (first !== null)
      await expect.poll(async () => mortal.isDead() || (await goOn(first)), PATIENCE).toBe(true)
    if (first === null || mortal.isDead()) {
      await first?.stop()
      bench.advance(31_000)
      last = await bench.start()
      const second = last
      await expect
        .poll(async () => {
          await stage.bring(second)
          return isOver(bench, stage, SAID)
        }, PATIENCE)
        .toBe(true)
    }
    const shown = await stage.shown(last!)
    await expectSound(bench, stage, SAID, shown)
    await last?.stop()
    return {
      calls: mortal.calls,
      wasReached: mortal.isReached(),
      copies: Math.max(0, shown.length - SAID.length - 1),
    }
  } catch (error) {
    throw new Error(`the processes said:\n${said.slice(-20).join('\n')}`, { cause: error })
  } finally {
    await putAway(away)
  }
}

const counts = { tried: 0, reached: 0, copies: 0 }
afterAll(() =>
  console.log(
    `${counts.tried} faults at writes of channels, ${counts.reached} of them reached; ` +
      `${counts.copies} parts were there twice, as their platforms let it be`,
  ),
)

/**
 * Promise 15.3, 15.4: Faults at any write lose and duplicate no channel message, and answers keep their
 * order.
 */
test.each(ways)(
  '$way: a fault at any write loses and duplicates no message and keeps the order, on both stores',
  { timeout: RUN_ALL ? 3_600_000 : 240_000 },
  async ({ way, open }) => {
    const { calls } = await liveThrough('sqlite', open, null)
    expect(calls.length).toBeGreaterThan(8)
    const deaths = deathsOf(calls)
    const lives = KINDS.flatMap(kind =>
      (RUN_ALL ? deaths : sampleOf(deaths, FAULTS[kind], SAMPLE + way.length)).map(death => ({
        kind,
        death,
      })),
    ).values()
    // They mostly wait.
    const live = async (): Promise<void> => {
      for (const { kind, death } of lives) {
        const life = await liveThrough(kind, open, death).catch((error: unknown) => {
          throw new Error(`on ${kind}, ${death.when} ${death.call} ${death.nth}`, { cause: error })
        })
        counts.tried += 1
        counts.copies += life.copies
        if (life.wasReached) counts.reached += 1
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, live))
  },
)

/** Spreads the sample over a run, with other positions for each platform. */
const sampleOf = (deaths: readonly Death[], count: number, from: number): Death[] =>
  Array.from(
    { length: count },
    (_, at) => deaths[(from * 7 + Math.floor((at * deaths.length) / count)) % deaths.length]!,
  )
