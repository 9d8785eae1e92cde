/** Rules for model calls: numbered from 0 in each turn, answered once, summed up once. */
import type { ReadData, SessionEvent } from '@cairn/protocol'

export type IterationRules = {
  check(event: SessionEvent): Iterable<string>
  /** Whether a model call is under way: deltas are written there and may have been pruned. */
  isUnderWay(): boolean
}

const keyOf = ({ turn_id, iteration_index }: { turn_id?: unknown; iteration_index?: unknown }): string =>
  `${String(turn_id)} ${String(iteration_index)}`

export function iterationRules(): IterationRules {
  const responses = new Set<string>()
  const summaries = new Set<string>()
  const turnSummaries = new Set<string>()
  let request: string | null = null
  let last: { turn: string; iteration: number } | null = null

  function* answer(data: ReadData<'llm.response'>): Generator<string> {
    if (data.turn_id === undefined) return
    const key = keyOf(data)
    if (responses.has(key)) yield 'its iteration was answered before'
    if (request !== key) yield 'it answers no call of the model under way'
    responses.add(key)
    last = { turn: data.turn_id, iteration: data.iteration_index ?? 0 }
    request = null
  }

  function* check(event: SessionEvent): Generator<string> {
    switch (event.type) {
      case 'session.stopped':
      case 'session.complete':
      case 'session.fail':
        request = null
        return
      case 'llm.request': {
        const { turn_id, iteration_index } = event.data
        const next = last?.turn === turn_id ? last.iteration + 1 : 0
        if (iteration_index !== next) yield `iteration ${iteration_index} where ${next} is due`
        request = keyOf(event.data)
        return
      }
      case 'llm.delta':
      case 'llm.heartbeat':
      case 'llm.thinking':
        if (request !== keyOf(event.data)) yield 'it belongs to no call of the model under way'
        return
      case 'llm.response':
        yield* answer(event.data)
        return
      case 'iteration.summary': {
        const key = keyOf(event.data)
        if (!responses.has(key)) yield 'its iteration has no answer'
        if (summaries.has(key)) yield 'its iteration was summed up before'
        summaries.add(key)
        return
      }
      case 'turn.summary':
        if (turnSummaries.has(event.data.turn_id)) yield 'its turn was summed up before'
        turnSummaries.add(event.data.turn_id)
        return
      default:
    }
  }

  return { check, isUnderWay: () => request !== null }
}
