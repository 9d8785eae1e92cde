/** Requests that are repeated until a server answers: servers and the database may die at any moment. */
import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type CairnClient, ConnectionError } from '@cairn/client'

/** One attempt of a request: how long it took, and its error if it failed. */
export type Attempt = { ms: number; error: unknown }

/**
 * Sends the same request until one server answers. The idempotency key makes it one request. `attempts`
 * receives each attempt.
 */
export type Insist = <T>(ask: (client: CairnClient) => Promise<T>, attempts?: Attempt[]) => Promise<T>

/** Whether the same request may succeed later. */
export const passes = (error: unknown): boolean =>
  error instanceof ConnectionError || (error instanceof ApiError && error.retryable)

type Options = {
  /** Each attempt uses any of them. */
  clients: readonly CairnClient[]
  random: () => number
  /** Maximum duration of a request, with all attempts. */
  patienceMs: number
  onRetry: (error: unknown) => void
}

export function createInsist({ clients, random, patienceMs, onRetry }: Options): {
  insist: Insist
  anyClient: () => CairnClient
} {
  const anyClient = (): CairnClient => clients[Math.floor(random() * clients.length)]!
  return {
    anyClient,
    async insist(ask, attempts = []) {
      for (const deadline = Date.now() + patienceMs; ;) {
        const from = performance.now()
        const record = (error: unknown): void => void attempts.push({ ms: performance.now() - from, error })
        try {
          const answer = await ask(anyClient())
          record(null)
          return answer
        } catch (error) {
          record(error)
          if (!passes(error) || Date.now() > deadline) throw error
          onRetry(error)
          await delay(100 + random() * 400)
        }
      }
    },
  }
}
