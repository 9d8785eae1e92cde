/**
 * One end a request, one request at a time and a point of a turn (contract 14.14; docs/advisor.md): rules
 * over one log. Part of `checkHistory`.
 */
import type { SessionEvent } from '@cairn/protocol'

/** Feeds on a log in order; returns what is wrong with each event. */
export function adviceRules(): (event: SessionEvent) => string[] {
  let open: { model: string; category: string } | null = null
  const points = new Set<string>()

  return event => {
    switch (event.type) {
      case 'advisor.request': {
        const { model, category, turn_id, iteration_index } = event.data
        const point = `${turn_id} ${iteration_index} ${category}`
        const found = [
          ...(open === null ? [] : ['the advisor is asked before its last request has an end']),
          ...(points.has(point) ? ['the advisor was asked at this point before'] : []),
        ]
        points.add(point)
        open = { model, category }
        return found
      }
      case 'advisor.result':
      case 'advisor.failure': {
        const fits = open !== null && open.model === event.data.model && open.category === event.data.category
        open = null
        return fits ? [] : ['it ends no request of the advisor']
      }
      case 'llm.request':
      case 'tool.call':
        return open === null ? [] : ['the turn goes on while the advisor is asked']
      // Who cuts a turn for good cuts its request with it.
      case 'session.complete':
      case 'session.fail':
      case 'session.stopped':
        open = null
        return []
      default:
        return []
    }
  }
}
