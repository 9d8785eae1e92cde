/**
 * The database's clock, which all processes share, without a query per use: measured at the start and
 * advanced by the monotonic clock, so that setting this machine's clock has no effect. It is measured again
 * every few minutes, because clocks drift, and at once when the machine's clock has jumped, because the
 * machine may have been suspended.
 */
import type { Report } from './connections.ts'
import { asError } from '@cairn/protocol'

const AGAIN_MS = 5 * 60_000
/** A difference between wall clock and monotonic clock that counts as a jump. */
const JUMP_MS = 1_000

export type Clocks = { now: () => number; monotonic: () => number }
const SYSTEM: Clocks = { now: Date.now, monotonic: () => performance.now() }

/** `ask` returns the time of the database in epoch milliseconds. */
export async function createDatabaseClock(
  ask: () => Promise<number>,
  report: Report,
  { now, monotonic }: Clocks = SYSTEM,
): Promise<() => number> {
  async function measure(): Promise<{ date: number; at: number; ahead: number }> {
    const asked = monotonic()
    const date = await ask()
    const at = (asked + monotonic()) / 2
    return { date, at, ahead: now() - monotonic() }
  }
  let measured = await measure()
  let measuring = false

  function measureAgain(): void {
    measuring = true
    measure()
      .then(found => {
        measured = found
      })
      .catch((error: unknown) =>
        report('warn', 'the clock of the database could not be read', { error: asError(error).message }),
      )
      .finally(() => {
        measuring = false
      })
  }

  return () => {
    const at = monotonic()
    const isOld = at - measured.at > AGAIN_MS
    const hasJumped = Math.abs(now() - at - measured.ahead) > JUMP_MS
    if (!measuring && (isOld || hasJumped)) measureAgain()
    return Math.round(measured.date + at - measured.at)
  }
}
