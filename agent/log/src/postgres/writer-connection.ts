/** The writer's connection: opened on demand, reopened when lost. */
import { setTimeout as delay } from 'node:timers/promises'
import { asError } from '@cairn/protocol'
import type { Client } from 'pg'
import type { PostgresAddress } from './address.ts'
import { closeClient, openClient, type Report } from './connections.ts'

const BACKOFF_MS = { first: 25, most: 2_000 }

export type WriterConnection = {
  isOut(): boolean
  /**
   * The connection, or a new one, however long that takes. Null if `giveUp` returns true after a failed
   * attempt, or the writer has given up.
   */
  get(giveUp: () => boolean): Promise<Client | null>
  /** Discards a lost connection. */
  lose(lost: Client): void
  /** Connection attempts end with the next failure. */
  giveUp(): void
  hasGivenUp(): boolean
  /** At the end of all writes: hands over the open connection, if there is one. */
  take(): Client | null
}

export function createWriterConnection(address: PostgresAddress, report: Report): WriterConnection {
  let client: Client | null = null
  let hasGivenUp = false

  function lose(lost: Client): void {
    if (client !== lost) return
    client = null
    closeClient(lost)
    if (!hasGivenUp) report('warn', 'the connection that writes was lost')
  }

  return {
    isOut: () => client === null,
    async get(giveUp) {
      for (let wait = BACKOFF_MS.first; client === null; wait = Math.min(wait * 2, BACKOFF_MS.most)) {
        try {
          client = await openClient(address, 'writes', lose)
        } catch (error) {
          if (hasGivenUp || giveUp()) return null
          report('error', 'the database cannot be reached', { error: asError(error).message })
          await delay(wait * (0.5 + Math.random()))
        }
      }
      return client
    },
    lose,
    giveUp() {
      hasGivenUp = true
    },
    hasGivenUp: () => hasGivenUp,
    take() {
      const last = client
      client = null
      return last
    },
  }
}
