/** The sessions that a runner is running. */
import type { Claim } from '@cairn/log'
import type { TurnAdmission } from './turn-admission.ts'
import { holdLease, type Lease } from './lease.ts'

export type Runs = {
  /** `onEnd` is called when the run has ended, successfully or not. */
  begin(claim: Claim, onEnd: () => void): void
  count(): number
  /** Number of running child sessions. */
  countChildren(): number
  holds(sessionId: string): boolean
  /** The latest lease of each session; earlier runs that are still ending no longer own theirs. */
  latestLeases(): Lease[]
  /** All leases, including those of runs that are ending. */
  leases(): Iterable<Lease>
  /** Each resolves with the end of its run and never rejects. */
  ends(): Promise<void>[]
}

type Run = { lease: Lease; isChild: boolean; done: Promise<void> }

/** `act` reports when the turn has started. */
export function createRuns(
  act: (claim: Claim, lease: Lease, started: () => void) => Promise<void>,
  admission: TurnAdmission,
): Runs {
  const runs = new Map<string, Run>()
  const leases = new Set<Lease>()
  return {
    begin(claim, onEnd) {
      const { id, parent_id } = claim.session
      const lease = holdLease(id, claim.fence)
      leases.add(lease)
      // A turn that was just paused may still be ending its tools; the next one waits, because both use the
      // same workspace.
      const before = runs.get(id)?.done ?? Promise.resolve()
      const done = before
        .then(async () => {
          const started = await admission.enter()
          await act(claim, lease, started).finally(started)
        })
        .finally(() => {
          leases.delete(lease)
          if (runs.get(id)?.lease === lease) runs.delete(id)
          onEnd()
        })
      runs.set(id, { lease, isChild: parent_id !== null, done })
    },
    count: () => runs.size,
    countChildren: () => [...runs.values()].filter(run => run.isChild).length,
    holds: sessionId => runs.has(sessionId),
    latestLeases: () => [...runs.values()].map(run => run.lease).filter(lease => !lease.signal.aborted),
    leases: () => leases,
    ends: () => [...runs.values()].map(run => run.done),
  }
}
