/**
 * The connection that listens to other processes, with a slow poll on it, so that a lost notification only
 * costs a second. A lost connection is reopened with increasing delays.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { asError } from '@cairn/protocol'
import type { Client } from 'pg'
import type { PostgresAddress } from './address.ts'
import { bound, closeClient, openClient, type Report, type Rows, type Statement } from './connections.ts'
import { readWords, type Word } from './notification-payload.ts'
import type { ChangedItem } from '../engine/resource.ts'

const BACKOFF_MS = { first: 50, most: 2_000 }
/** A transaction may commit some time after its change, so a poll by time looks back this far. */
const POLL_BACK_MS = 10_000

type Heard = {
  grew(sessionId: string, from: number, to: number): void
  itemChanged(orgId: string, item: ChangedItem): void
  work(): void
  pruned(): void
}
type Watched = { sessions: string[]; orgs: string[] }

const HEADS: Statement = {
  name: 'heads',
  text: `
    SELECT s.id, s.last_id FROM directory d JOIN sessions s ON s.org_key = d.org_key AND s.key = d.key
    WHERE d.kind = 'session' AND d.id = ANY($1::text[])`,
}
const ITEMS: Statement = {
  name: 'changed_items',
  text: `
    SELECT i.id, i.org_id, i.changed_at FROM organisations o JOIN inbox_items i ON i.org_key = o.org_key
    WHERE o.id = ANY($2::text[]) AND i.changed_at > $1
    ORDER BY i.changed_at`,
}
const CLOCK: Statement = {
  name: 'clock',
  text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
}

export type ListenerOptions = { watched: () => Watched; heard: Heard; pollMs: number; report: Report }
export type Listener = { close(): Promise<void> }

/** Resolves when it listens: later changes of other processes are not missed. */
export async function startListening(
  address: PostgresAddress,
  channel: string,
  self: string,
  { watched, heard, pollMs, report }: ListenerOptions,
): Promise<Listener> {
  const stop = new AbortController()
  const poll = createPoll(watched, heard)
  /** Null while disconnected. */
  let client: Client | null = null

  async function listen(): Promise<Client> {
    const opened = await openListening(address, channel, lose, payload => {
      for (const word of readWords(self, payload)) notify(word, heard)
    })
    if (!stop.signal.aborted) return opened
    closeClient(opened)
    throw stop.signal.reason
  }

  function lose(lost: Client): void {
    if (client !== lost) return
    client = null
    closeClient(lost)
    if (!stop.signal.aborted) report('warn', 'the connection that listens was lost; polling until it is back')
  }

  /** A connection that hangs is detected by its own poll. */
  async function pollOn(polled: Client): Promise<void> {
    try {
      await poll(polled)
    } catch (error) {
      lose(polled)
      throw error
    }
  }

  async function keepListening(): Promise<void> {
    for (let wait = BACKOFF_MS.first; !stop.signal.aborted;) {
      try {
        if (client === null) {
          client = await listen()
          wait = BACKOFF_MS.first
          // Notifications in between were missed.
          heard.work()
        }
        await pollOn(client)
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

  client = await listen()
  const listening = keepListening()
  return {
    async close() {
      stop.abort()
      const last = client
      client = null
      if (last !== null) closeClient(last)
      await listening
    },
  }
}

async function openListening(
  address: PostgresAddress,
  channel: string,
  lose: (lost: Client) => void,
  hear: (payload: string) => void,
): Promise<Client> {
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

function notify(word: Word, heard: Heard): void {
  if ('s' in word) heard.grew(...word.s)
  else if ('i' in word) heard.itemChanged(word.i[0], { id: word.i[1], at: word.i[2] })
  else if ('w' in word) heard.work()
  else heard.pruned()
}

/** Queries what has changed in the watched sessions and organisations, and reports it. */
function createPoll(watched: () => Watched, heard: Heard): (client: Client) => Promise<void> {
  /** By the server's clock; null until the first poll. */
  let lookedAt: number | null = null
  return async client => {
    const { sessions, orgs } = watched()
    const ask = async (statement: Statement, values: Parameters<typeof bound>[1]): Promise<Rows> =>
      ((await client.query(bound(statement, values))) as { rows: Rows }).rows
    const [clock] = await ask(CLOCK, [])
    if (sessions.length > 0)
      for (const row of await ask(HEADS, [sessions]))
        heard.grew(String(row['id']), Number(row['last_id']), Number(row['last_id']))
    if (orgs.length > 0 && lookedAt !== null)
      for (const row of await ask(ITEMS, [lookedAt - POLL_BACK_MS, orgs]))
        heard.itemChanged(String(row['org_id']), { id: String(row['id']), at: Number(row['changed_at']) })
    lookedAt = Number(clock?.['now'])
  }
}
