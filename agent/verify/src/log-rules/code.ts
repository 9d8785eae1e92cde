/**
 * Runs of coding agents: one per source event, one at a time, one result each, and no event of a run outside
 * it (contract 14.16). Rules over one log; part of `checkHistory`.
 */
import type { EventId, SessionEvent } from '@cairn/protocol'

/** Feed it the events of a log in order; it returns the violations of each. */
export function codeRules(): (event: SessionEvent) => string[] {
  const sources = new Set<EventId>()
  const seen = new Set<EventId>()
  let live: { run_id: string; seq: number } | null = null

  return event => {
    seen.add(event.id)
    switch (event.type) {
      case 'code.run_started': {
        const { run_id, source_event_id } = event.data
        const found = [
          ...(live === null ? [] : [`the run ${live.run_id} has no result yet`]),
          ...(sources.has(source_event_id) ? [`event ${source_event_id} already started a run`] : []),
          ...(seen.has(source_event_id) ? [] : [`its source ${source_event_id} does not precede it`]),
        ]
        sources.add(source_event_id)
        live = { run_id, seq: 0 }
        return found
      }
      case 'code.run_progress': {
        if (live?.run_id !== event.data.run_id) return ['its run is not running']
        const { seq = live.seq } = event.data
        const found = seq === live.seq ? [] : [`its seq is ${seq}, after ${live.seq - 1}`]
        live.seq = seq + 1
        return found
      }
      case 'code.run_channel_update':
        return live?.run_id === event.data.run_id ? [] : ['its run is not running']
      case 'code.run_result':
        if (live?.run_id !== event.data.run_id) return ['its run has not started, or already has a result']
        live = null
        return []
      default:
        return []
    }
  }
}
