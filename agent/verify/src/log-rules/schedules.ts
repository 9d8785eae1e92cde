/**
 * Results of scheduled runs in the log of the parent session (contract 14.17): the runs of a schedule are
 * sequential, so their results are numbered without a gap, and each scheduled time and each run has one
 * result. Part of `checkHistory`.
 */
import type { SessionEvent } from '@cairn/protocol'

type ReportedRun = { runs: number; slots: Set<string> }

/** Feed it the events of a log in order; it returns the violations of each. */
export function scheduleRules(): (event: SessionEvent) => string[] {
  const schedules = new Map<string, ReportedRun>()
  const runs = new Set<string>()
  return event => {
    if (event.type !== 'loop.result') return []
    const { scheduled_session_id: id, run_session_id: run, run_number, slot_at } = event.data
    const told = schedules.get(id) ?? { runs: 0, slots: new Set() }
    schedules.set(id, told)
    const found = runs.has(run) ? [`run ${run} already has a result`] : []
    runs.add(run)
    if (run_number !== undefined && run_number !== told.runs + 1)
      found.push(`schedule ${id} reports run ${run_number} after run ${told.runs}`)
    told.runs = run_number ?? told.runs
    if (slot_at !== undefined && told.slots.has(slot_at))
      found.push(`schedule ${id} already has a run for ${slot_at}`)
    if (slot_at !== undefined) told.slots.add(slot_at)
    return found
  }
}
