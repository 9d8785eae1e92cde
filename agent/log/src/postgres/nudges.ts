/**
 * How processes tell each other that something is new. One notification for everything that was committed
 * while the last was on its way, sent outside the transactions: NOTIFY serialises the commits of a whole
 * server. A connection of its own listens; behind both stands a slow poll, so that a lost word costs a second
 * and nothing else. A nudge carries no data: readers go on from their cursors.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { asError } from '@cairn/protocol'
import type { Client } from 'pg'
import type { PostgresAddress } from './address.ts'
import {
  bound,
  closeClient,
  type Database,
  openClient,
  type Report,
  type Rows,
  type Statement,
} from './connections.ts'
import type { ChangedItem } from './row-changes.ts'

/** Postgres takes 8,000 bytes a notification. */
const MAX_BYTES = 7_500
const BACKOFF_MS = { first: 50, most: 2_000 }
/**
 * A transaction may have taken its time between the change and its commit; who looks by time looks back so
 * far.
 */
const LOOK_BACK_MS = 10_000

/** On the wire: short keys, for space is short. */
type Word =
  | { s: [session: string, from: number, to: number] }
  | { i: [org: string, item: string, at: number] }
  | { w: 1 }
  | { p: 1 }
type Message = { o: string; n: Word[] }

export type Heard = {
  grew(sessionId: string, from: number, to: number): void
  itemChanged(orgId: string, item: ChangedItem): void
  work(): void
  pruned(): void
}
export type Watched = { sessions: string[]; orgs: string[] }

/** It has nothing to keep, and waiting for the disk on its behalf would take turns with the commits. */
const NOTIFY: Statement = {
  name: 'notify',
  text: `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`,
}
const HEADS: Statement = {
  name: 'heads',
  text: 'SELECT id, last_id FROM sessions WHERE id = ANY($1::text[])',
}
const ITEMS: Statement = {
  name: 'changed_items',
  text:
    'SELECT id, org_id, changed_at FROM inbox_items WHERE changed_at > $1 AND org_id = ANY($2::text[]) ' +
    'ORDER BY changed_at',
}
const CLOCK: Statement = {
  name: 'clock',
  text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
}

export type Nudges = { tell(word: Word): void; isListening(): boolean; close(): Promise<void> }

export async function startNudges(
  address: PostgresAddress,
  db: Database,
  self: string,
  options: { watched: () => Watched; heard: Heard; pollMs: number; report: Report },
): Promise<Nudges> {
  const { watched, heard, pollMs, report } = options
  const channel = `cairn_${address.schema}`
  let pending = new Map<string, Word>()
  let sending: Promise<void> | null = null
  let listener: Client | null = null
  let lookedAt: number | null = null
  const stop = new AbortController()

  // ---- speaking
  // -------------------------------------------------------------------------------------------------------

  async function send(): Promise<void> {
    while (pending.size > 0) {
      const words = [...pending.values()]
      pending = new Map()
      for (const payload of packed(self, words)) {
        try {
          await db.query(NOTIFY, [channel, payload])
        } catch (error) {
          report('warn', 'telling the other processes failed; they poll', { error: asError(error).message })
        }
      }
    }
    sending = null
  }

  // ---- hearing
  // --------------------------------------------------------------------------------------------------------

  function hear(payload: string): void {
    const { o, n } = JSON.parse(payload) as Message
    if (o === self) return
    for (const word of n) {
      if ('s' in word) heard.grew(...word.s)
      else if ('i' in word) heard.itemChanged(word.i[0], { id: word.i[1], at: word.i[2] })
      else if ('w' in word) heard.work()
      else heard.pruned()
    }
  }

  async function listen(): Promise<Client> {
    const client = await openClient(address, 'plain', lose)
    client.on('notification', ({ payload }) => {
      if (payload !== undefined) hear(payload)
    })
    try {
      await client.query(`LISTEN "${channel}"`)
      return client
    } catch (error) {
      closeClient(client)
      throw error
    }
  }

  function lose(lost: Client): void {
    if (listener !== lost) return
    listener = null
    closeClient(lost)
    if (!stop.signal.aborted) report('warn', 'the connection that listens was lost; polling until it is back')
  }

  /** On the listening connection itself: one that hangs is found by its own poll. */
  async function poll(client: Client): Promise<void> {
    const { sessions, orgs } = watched()
    const ask = async (statement: Statement, values: Parameters<typeof bound>[1]): Promise<Rows> =>
      ((await client.query(bound(statement, values))) as { rows: Rows }).rows
    const [clock] = await ask(CLOCK, [])
    if (sessions.length > 0)
      for (const row of await ask(HEADS, [sessions]))
        heard.grew(String(row['id']), Number(row['last_id']), Number(row['last_id']))
    if (orgs.length > 0 && lookedAt !== null)
      for (const row of await ask(ITEMS, [lookedAt - LOOK_BACK_MS, orgs]))
        heard.itemChanged(String(row['org_id']), { id: String(row['id']), at: Number(row['changed_at']) })
    lookedAt = Number(clock?.['now'])
  }

  async function keepListening(): Promise<void> {
    for (let wait = BACKOFF_MS.first; !stop.signal.aborted;) {
      try {
        if (listener === null) {
          listener = await listen()
          wait = BACKOFF_MS.first
          // What was said meanwhile was not heard.
          heard.work()
        }
        const polled = listener
        await poll(polled).catch((error: unknown) => {
          lose(polled)
          throw error
        })
        await delay(pollMs, undefined, { signal: stop.signal, ref: false })
      } catch (error) {
        if (stop.signal.aborted) return
        report('warn', 'listening to the other processes failed; trying again', {
          error: asError(error).message,
        })
        await delay(wait, undefined, { ref: false })
        wait = Math.min(wait * 2, BACKOFF_MS.most)
      }
    }
  }

  // A store that is open hears: what another process does from here on is not missed.
  listener = await listen()
  const listening = keepListening()

  return {
    tell(word) {
      const key = 's' in word ? `s${word.s[0]}` : 'i' in word ? `i${word.i[1]}` : (Object.keys(word)[0] ?? '')
      const before = pending.get(key)
      // Of one session the whole stretch that is new.
      pending.set(
        key,
        's' in word && before !== undefined && 's' in before
          ? { s: [word.s[0], Math.min(before.s[1], word.s[1]), Math.max(before.s[2], word.s[2])] }
          : word,
      )
      sending ??= Promise.resolve().then(send)
    },
    isListening: () => listener !== null,
    async close() {
      await sending
      stop.abort()
      const last = listener
      listener = null
      if (last !== null) closeClient(last)
      await listening
    },
  }
}

/** As few messages as the words fit in. */
function* packed(self: string, words: readonly Word[]): Generator<string> {
  let texts: string[] = []
  let bytes = 0
  const message = (): string => `{"o":${JSON.stringify(self)},"n":[${texts.join(',')}]}`
  for (const word of words) {
    const text = JSON.stringify(word)
    const length = Buffer.byteLength(text) + 1
    if (bytes + length > MAX_BYTES) {
      yield message()
      texts = []
      bytes = 0
    }
    texts.push(text)
    bytes += length
  }
  yield message()
}
