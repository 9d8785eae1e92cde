/** Questions to a person, and actions that only a person can do: they suspend the turn (contract 7.8). */
import { type EventId, type EventOf, isBesideTurns } from '@cairn/protocol'
import type { Change } from './change.ts'
import { type FoldState, type OpenAsk, restIfWaiting } from './state.ts'

/** The call that shows it: the asking tool's own, or a new one beside a tool that asks while it runs. */
function showIn(state: FoldState, event: EventId, tool_call_id: string | undefined): string {
  const call = tool_call_id === undefined ? undefined : state.calls[tool_call_id]
  if (tool_call_id === undefined || call?.state !== 'held') return `ask_${event}`
  call.state = 'hidden'
  return tool_call_id
}

export function onQuestion(state: FoldState, { id, data }: EventOf<'inbox.input_required'>): Change[] {
  const call = showIn(state, id, data.tool_call_id)
  state.asks[id] = { call, tool_call_id: data.tool_call_id, item_id: null, kind: 'question' }
  const question = { questions: data.questions, context: data.context ?? null }
  return [{ kind: 'asked', ask: id, call, question, action: null }, ...restIfWaiting(state)]
}

export function onAction(state: FoldState, { id, data }: EventOf<'inbox.action_required'>): Change[] {
  if (data.proposal !== undefined || isBesideTurns(data.action_type)) return []
  const { title, instructions, action_type, target, tool_call_id, item_id } = data
  const call = showIn(state, id, tool_call_id)
  state.asks[id] = {
    call,
    tool_call_id: tool_call_id ?? null,
    item_id: item_id ?? null,
    kind: 'action',
  }
  const action = { title, instructions, action_type, target }
  return [{ kind: 'asked', ask: id, call, question: null, action }, ...restIfWaiting(state)]
}

const answered = (state: FoldState, [event, ask]: [string, OpenAsk], output: Record<string, unknown>) => {
  const id = Number(event)
  delete state.asks[id]
  return { kind: 'answered', ask: id, call: ask.call, output } as const
}

export function onAnswer(
  state: FoldState,
  { data: { tool_call_id, responses } }: EventOf<'ask_user_question.response'>,
): Change[] {
  state.running = true
  return Object.entries(state.asks)
    .filter(([, ask]) => ask.kind === 'question' && ask.tool_call_id === tool_call_id)
    .map(ask => answered(state, ask, { responses }))
}

export function onActionDone(state: FoldState, { data }: EventOf<'user.message'>): Change[] {
  state.running = true
  const actions = Object.entries(state.asks).filter(([, ask]) => ask.kind === 'action')
  const done = actions.find(([, ask]) => ask.item_id === data.inbox_item_id && ask.item_id !== null)
  // Logs of older releases do not name the item; then the first open action is the one.
  const ask = done ?? actions.find(([, { item_id }]) => item_id === null)
  return ask === undefined ? [] : [answered(state, ask, { completed: true })]
}

/** Closes what can no longer be answered. */
export const closeAsks = (state: FoldState, reason: string): Change[] =>
  Object.entries(state.asks).map(ask => answered(state, ask, { cancelled: true, reason }))
