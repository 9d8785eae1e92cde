/** Model calls: what deltas have shown, completed by the response, which is authoritative. */
import type { EventOf } from '@cairn/protocol'
import type { Change } from './change.ts'
import type { FoldState, ShownAnswer } from './state.ts'

const begin = (part: number): ShownAnswer => ({
  part,
  text: '',
  reasoning: '',
  open: { text: false, reasoning: false },
  done: false,
})

const hasShown = ({ text, reasoning }: ShownAnswer): boolean => text !== '' || reasoning !== ''

export function onRequest(state: FoldState, { id, data }: EventOf<'llm.request'>): Change[] {
  const { answer } = state
  state.running = true
  state.pending = []
  const isRepeated = answer !== null && !answer.done
  const reset: Change[] = isRepeated && hasShown(answer) ? [{ kind: 'reset', part: answer.part }] : []
  state.answer = begin(id)
  // A step contains everything up to the decisions that it asks for: clients look for them in the last step.
  if (isRepeated || (state.step > 0 && isUndecided(state))) return reset
  state.step = id
  return [{ kind: 'step', request: id, model: data.model }]
}

const isUndecided = ({ calls, gates, step }: FoldState): boolean =>
  Object.values(gates).some(id => calls[id]?.step === step)

export function onDelta(state: FoldState, { id, data }: EventOf<'llm.delta'>): Change[] {
  const answer = (state.answer ??= begin(id))
  if (answer.done) return []
  const changes: Change[] = []
  if (data.reset === true && hasShown(answer)) {
    changes.push({ kind: 'reset', part: answer.part })
    state.answer = begin(id)
  }
  const current = state.answer
  if (data.reasoning) changes.push(...extend(current, 'reasoning', data.reasoning))
  if (data.content) changes.push(...extend(current, 'text', data.content))
  return changes
}

type Kind = 'text' | 'reasoning'

function extend(answer: ShownAnswer, kind: Kind, text: string): Change[] {
  const { part } = answer
  const start: Change[] = answer.open[kind] ? [] : [{ kind, phase: 'start', part }]
  answer.open[kind] = true
  answer[kind] += text
  return text === '' ? start : [...start, { kind, phase: 'delta', part, text }]
}

function close(answer: ShownAnswer, kind: Kind): Change[] {
  if (!answer.open[kind]) return []
  answer.open[kind] = false
  return [{ kind, phase: 'end', part: answer.part }]
}

/** The response, which follows in the same commit, closes the reasoning. */
export function onThinking(state: FoldState, { id, data }: EventOf<'llm.thinking'>): Change[] {
  const answer = (state.answer ??= begin(id))
  if (answer.done || data.reasoning === '') return []
  if (data.reasoning === answer.reasoning) return []
  if (data.reasoning.startsWith(answer.reasoning))
    return extend(answer, 'reasoning', data.reasoning.slice(answer.reasoning.length))
  const reset: Change = { kind: 'reset', part: answer.part }
  return [reset, ...extend((state.answer = begin(id)), 'reasoning', data.reasoning)]
}

export function onResponse(state: FoldState, { id, data }: EventOf<'llm.response'>): Change[] {
  if (data.finish_reason === 'command') return []
  const { content, tool_calls = [] } = data.message
  let answer = (state.answer ??= begin(id))
  if (answer.done) answer = state.answer = begin(id)
  const changes: Change[] = []
  if (!content.startsWith(answer.text)) {
    const { reasoning, part } = answer
    changes.push({ kind: 'reset', part })
    answer = state.answer = begin(id)
    if (reasoning !== '') changes.push(...extend(answer, 'reasoning', reasoning))
  }
  const rest = content.slice(answer.text.length)
  if (rest !== '') changes.push(...extend(answer, 'text', rest))
  changes.push(...close(answer, 'text'), ...close(answer, 'reasoning'))
  answer.done = true
  state.pending = [...new Set(tool_calls.map(call => call.id))]
  const { total } = state
  total.input_tokens += data.input_tokens
  total.output_tokens += data.output_tokens
  total.reasoning_tokens += data.reasoning_tokens
  total.cache_read_tokens += data.cache_read_tokens
  total.cost_usd += data.cost_usd ?? 0
  return [...changes, { kind: 'usage', total: { ...total } }]
}
