/**
 * The test bench of one implementation: opens stores in new places and removes everything after each test.
 */
import { afterEach } from 'vitest'
import type { LogStore, RowChange } from '@cairn/log'
import { type Clock, type Implementation, makeClock, newSession, thought } from './fixture.ts'

type Opened = { store: LogStore; clock: Clock; place: string }
export type Bench = {
  kind: Implementation['kind']
  sql: Implementation['sql']
  /** A new store; with `place`, the store in that place. */
  open(options?: { place?: string; clock?: Clock; redact?: (json: string) => string }): Promise<Opened>
  /** A place in which no store was opened before. */
  makeUnopened(): Promise<string>
}

export function makeBench(implementation: Implementation): Bench {
  const putAway: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const each of putAway.splice(0).toReversed()) await each()
  })
  async function makePlace(options: { unopened: boolean }): Promise<string> {
    const { place, remove } = await implementation.makePlace(options)
    putAway.push(remove)
    return place
  }
  return {
    kind: implementation.kind,
    sql: implementation.sql,
    makeUnopened: () => makePlace({ unopened: true }),
    async open(options = {}) {
      const place = options.place ?? (await makePlace({ unopened: false }))
      const clock = options.clock ?? makeClock()
      const store = await implementation.open(place, {
        now: clock.now,
        monotonic: clock.monotonic,
        ...(options.redact && { redact: options.redact }),
      })
      putAway.push(() => store.close())
      return { store, clock, place }
    },
  }
}

/** A session `root` on a new store, and commits of it that change rows of its tree. */
export async function openRoot({ open }: Bench) {
  const opened = await open()
  const { store } = opened
  await store.sessions.create(newSession('root'))
  return {
    ...opened,
    act: (...rows: RowChange[]) => store.commit({ session_id: 'root', events: [thought('acts')], rows }),
  }
}
