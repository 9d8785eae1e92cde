/**
 * How long clients wait for the acknowledgement of a message, and why: each attempt with its error, and each
 * replica that the proxy tried for it.
 */
import { ApiError } from '@cairn/client'
import { asError } from '@cairn/protocol'
import type { Attempt } from '../chaos/insist.ts'
import type { Forwarded } from './balancer.ts'

/** The limit of a rehearsal, in milliseconds. */
export const MAX_P99_MS = 2_000

/** `at` is performance.now() when the message was sent. */
export type Acknowledgement = { at: number; ms: number; attempts: readonly Attempt[]; key: string }

/**
 * no answer    the connection broke, or no replica listened
 * held key     another attempt held the Idempotency-Key
 * database     the replica could not reach the database
 * busy         the replica answered, but late: it waited for a CPU, or for commits before this one
 * between      the client's pauses between attempts
 */
export type Cause = 'no answer' | 'held key' | 'database' | 'busy' | 'between' | 'other'

function causeOf({ error }: Attempt): Cause {
  if (error === null) return 'busy'
  if (!(error instanceof ApiError)) return 'no answer'
  if (error.code === 'idempotency_in_progress') return 'held key'
  return error.code === 'storage' || error.code === 'unavailable' ? 'database' : 'other'
}

/** Milliseconds by cause, over all acknowledgements that took longer than the limit. */
export function breakDown(acknowledgements: readonly Acknowledgement[]): Partial<Record<Cause, number>> {
  const causes: Partial<Record<Cause, number>> = {}
  for (const { ms, attempts } of acknowledgements.filter(isSlow)) {
    const add = (cause: Cause, each: number): void =>
      void (causes[cause] = (causes[cause] ?? 0) + Math.round(each))
    for (const attempt of attempts) add(causeOf(attempt), attempt.ms)
    add('between', ms - attempts.reduce((sum, attempt) => sum + attempt.ms, 0))
  }
  return causes
}

export const isSlow = ({ ms }: Acknowledgement): boolean => ms > MAX_P99_MS

/** One line for a slow acknowledgement. */
export function describeSlow(
  { at, ms, attempts, key }: Acknowledgement,
  { from, forwarded }: { from: number; forwarded: readonly Forwarded[] },
): string {
  const tried = attempts.map(
    ({ ms: each, error }) => `${error === null ? 'answered' : nameOf(error)} after ${Math.round(each)} ms`,
  )
  const replicas = forwarded
    .filter(each => each.key === key)
    .map(({ url, outcome, ms: each }) => `${url.split(':').at(-1)} ${outcome} ${Math.round(each)} ms`)
  return (
    `${((at - from) / 1000).toFixed(1)} s: acknowledged after ${Math.round(ms)} ms: ` +
    `${tried.join(', ')}; replicas: ${replicas.join(', ')}`
  )
}

const nameOf = (error: unknown): string =>
  error instanceof ApiError ? `${error.status} ${error.code}` : asError(error).name

export function percentiles(acknowledgements: readonly Acknowledgement[]): {
  count: number
  p50: number
  p99: number
  max: number
} {
  const sorted = acknowledgements.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN)
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
