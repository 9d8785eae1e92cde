/**
 * Rules over one log: each request ends once, one request at a time, one per point of a turn (contract 14.14;
 * docs/advisor.md). Part of `checkHistory`.
 */
import type { SessionEvent } from '@cairn/protocol'

/** Feed it the events of a log in order; it returns the violations of each. */
export function adviceRules(): (event: SessionEvent) => string[] {
  let open: { model: string; category: string } | null = null
  const points = new Set<string>()

  return event => {
    switch (event.type) {
      case 'advisor.request': {
        const { model, category, turn_id, iteration_index } = event.data
        const point = `${turn_id} ${iteration_index} ${category}`
        const found = [
          ...(open === null ? [] : ['the advisor is called before its last request has ended']),
          ...(points.has(point) ? ['the advisor was already called at this point'] : []),
        ]
        points.add(point)
        open = { model, category }
        return found
      }
      case 'advisor.result':
      case 'advisor.failure': {
        const fits = open !== null && open.model === event.data.model && open.category === event.data.category
        open = null
        return fits ? [] : ['no request of the advisor is open']
      }
      case 'llm.request':
      case 'tool.call':
        return open === null ? [] : ['the turn continues during a request of the advisor']
      // The end of the turn also ends its request.
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
