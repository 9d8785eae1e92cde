/** Workers: child sessions, from their creation to their outcome. The steps of a worker are in its own log. */
import type { EventOf, SessionEvent } from '@cairn/protocol'
import { callKey } from './fold-calls.ts'
import { addFacts, beginSpan, closeKey, type SpanFold } from './span-fold.ts'
import { kindOf, setFlag } from './spans.ts'

const workerKey = (id: string): string => `worker ${id}`

export function foldWorkerSpans(fold: SpanFold, event: SessionEvent): void {
  switch (event.type) {
    case 'worker.spawned': {
      const { worker_id, goal, agent, tool_call_id } = event.data
      const span = beginSpan(fold, workerKey(worker_id), { kind: 'worker', name: agent, object: goal, event })
      addFacts(fold.spans, span, { session_id: worker_id })
      // The worker has a row of its own, so the call that started it needs none.
      const call = tool_call_id === undefined ? undefined : fold.open.get(callKey(tool_call_id))
      if (call !== undefined && kindOf(fold.spans, call) === 'tool') setFlag(fold.spans, call, 'replaced')
      return
    }
    case 'worker.complete':
      return settled(fold, event)
    case 'worker.failed':
      return settled(fold, event)
    default:
  }
}

function settled(fold: SpanFold, event: EventOf<'worker.complete'> | EventOf<'worker.failed'>): void {
  const { worker_id, cost_usd } = event.data
  const span = fold.open.get(workerKey(worker_id))
  if (span === undefined) return
  if (cost_usd !== undefined) addFacts(fold.spans, span, { cost_usd })
  closeKey(fold, workerKey(worker_id), event, event.type === 'worker.failed')
}
