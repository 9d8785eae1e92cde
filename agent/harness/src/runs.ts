/** The sessions that one worker runs right now. */
import type { Claim } from '@cairn/log'
import type { TurnAdmission } from './turn-admission.ts'
import { holdLease, type Lease } from './lease.ts'

export type Runs = {
  /** `onEnd` is called when it has ended, however it did. */
  begin(claim: Claim, onEnd: () => void): void
  count(): number
  /** Those of children. */
  countChildren(): number
  holds(sessionId: string): boolean
  /** The latest of each session: one that is being let go of is not ours any more. */
  latestLeases(): Lease[]
  /** Those that are being let go of too. */
  leases(): Iterable<Lease>
  /** Each ends with its run, and never rejects. */
  ends(): Promise<void>[]
}

type Run = { lease: Lease; isChild: boolean; done: Promise<void> }

/** `act` says when the turn has begun. */
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
      // A turn that was just paused may still be letting go of its tools; the next one waits, for both have
      // the same workspace.
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
