/** Folds one event into the chat of a session. The caller owns the list; it is changed in place. */
import { type EventId, type EventOf, type SessionEvent, toolError } from '@cairn/protocol'
import { type ChatItem, findItem, type ItemOf, placeOf } from './chat-item.ts'
import type { ConversationMessage } from '../conversation/messages.ts'
import { startsWithHistory } from '../conversation/fork.ts'
import { statusItemOf } from './status-items.ts'
import { answerText } from '../conversation/open-calls.ts'
import { foldTaskItems } from './task-items.ts'
import { foldWorkers } from './worker-items.ts'

export function foldItem(items: ChatItem[], event: SessionEvent): void {
  foldChat(items, event)
  foldWorkers(items, event)
  foldTaskItems(items, event)
  foldBoardItems(items, event)
  const notice = statusItemOf(event)
  if (notice !== null) items.push(notice)
}

/** Messages, tool calls, questions and artifacts. */
function foldChat(items: ChatItem[], event: SessionEvent): void {
  switch (event.type) {
    case 'user.message':
      return said(items, event)
    case 'llm.delta':
      return streamed(items, event)
    case 'llm.thinking': {
      const answer = answerOf(items, event)
      items[answer.index] = { ...answer.item, reasoning: event.data.reasoning }
      return
    }
    case 'llm.response':
      return responded(items, event)
    case 'tool.call':
      return called(items, event)
    case 'tool.result':
      return returned(items, event)
    case 'inbox.input_required':
      return asked(items, event)
    case 'ask_user_question.response':
      return answered(items, event)
    case 'inbox.governance_gate':
      return gated(items, event)
    case 'artifact.created': {
      const { artifact_id, name, kind } = event.data
      items.push({ kind: 'artifact', ...placeOf(event), artifact_id, name, artifact_kind: kind })
      return
    }
    case 'user.feedback': {
      const { target_event_id, source, rating, withdrawn } = event.data
      const rated = findItem(items, 'answer', item => item.event_id === target_event_id, Infinity)
      if (rated && source === 'user')
        items[rated.index] = { ...rated.item, rating: withdrawn ? null : rating }
      return
    }
    case 'session.stopped':
      markUnanswered(items)
      cancelQuestions(items)
      return endStreams(items)
    case 'session.pause':
    case 'session.complete':
    case 'session.fail':
    case 'harness.crash':
      endStreams(items)
  }
}

function said(items: ChatItem[], event: EventOf<'user.message'>): void {
  const { content, attachments = [], images = [], synthetic = null, passes_over = [] } = event.data
  if (startsWithHistory(event.data.synthetic)) {
    const { forked_from = null, imported = null, history = [] } = event.data
    const messages = history as ConversationMessage[]
    items.push({ kind: 'history', ...placeOf(event), forked_from, imported, messages })
    return
  }
  if (synthetic === 'governance_decision') decide(items, event)
  for (const call of passes_over) passOver(items, call, Infinity)
  items.push({ kind: 'user', ...placeOf(event), content, attachments, images, synthetic })
}

function streamed(items: ChatItem[], event: EventOf<'llm.delta'>): void {
  const { item, index } = answerOf(items, event)
  const { reset, content = '', reasoning = '' } = event.data
  items[index] = reset
    ? { ...item, content: '', reasoning: '' }
    : { ...item, content: item.content + content, reasoning: item.reasoning + reasoning }
}

function responded(items: ChatItem[], event: EventOf<'llm.response'>): void {
  const { message, model, input_tokens, output_tokens, cost_usd = null, finish_reason } = event.data
  const { item, index } = answerOf(items, event)
  items[index] = {
    ...item,
    ...placeOf(event),
    content: message.content,
    streaming: false,
    model,
    input_tokens,
    output_tokens,
    cost_usd,
    finish_reason,
  }
  for (const { id, function: call } of message.tool_calls ?? [])
    if (findTool(items, id) === null)
      items.push(toolItem(event, { tool_call_id: id, name: call.name, arguments: call.arguments }, 'asked'))
}

const findTool = (items: readonly ChatItem[], callId: string, reach?: number) =>
  findItem(items, 'tool', item => item.tool_call_id === callId, reach)

const toolItem = (
  event: { id: EventId; created_at: string },
  call: Pick<ItemOf<'tool'>, 'tool_call_id' | 'name' | 'arguments'>,
  status: ItemOf<'tool'>['status'],
): ItemOf<'tool'> => ({ kind: 'tool', ...placeOf(event), ...call, status, content: null, elapsed_ms: null })

function called(items: ChatItem[], event: EventOf<'tool.call'>): void {
  const { tool_call_id, name, arguments: args } = event.data
  const known = findTool(items, tool_call_id)
  items[known?.index ?? items.length] = toolItem(event, { tool_call_id, name, arguments: args }, 'running')
}

function returned(items: ChatItem[], event: EventOf<'tool.result'>): void {
  const { tool_call_id, content, elapsed_ms } = event.data
  const known = findTool(items, tool_call_id)
  if (known) {
    const failed = elapsed_ms === 0 ? 'refused' : 'failed'
    const status = toolError(content) !== null ? failed : 'done'
    items[known.index] = { ...known.item, status, content, elapsed_ms }
  }
  passOver(items, tool_call_id)
}

function asked(items: ChatItem[], event: EventOf<'inbox.input_required'>): void {
  const { tool_call_id, questions, context = null } = event.data
  const known = findTool(items, tool_call_id)
  if (known) items[known.index] = { ...known.item, status: 'waiting' }
  items.push({
    kind: 'question',
    ...placeOf(event),
    tool_call_id,
    questions,
    context,
    responses: null,
    cancelled: false,
  })
}

function answered(items: ChatItem[], event: EventOf<'ask_user_question.response'>): void {
  const { tool_call_id, responses } = event.data
  const question = findItem(items, 'question', item => item.tool_call_id === tool_call_id, Infinity)
  if (question) items[question.index] = { ...question.item, responses, cancelled: false }
  const known = findTool(items, tool_call_id, Infinity)
  if (known) items[known.index] = { ...known.item, status: 'done', content: answerText(responses) }
}

/** Closes a question that ends without an answer. */
function passOver(items: ChatItem[], callId: string, reach?: number): void {
  const question = findItem(items, 'question', item => item.tool_call_id === callId, reach)
  if (question && question.item.responses === null)
    items[question.index] = { ...question.item, cancelled: true }
}

/** A stop cancels every open question. */
function cancelQuestions(items: ChatItem[]): void {
  for (const [index, item] of items.entries())
    if (item.kind === 'question' && item.responses === null) items[index] = { ...item, cancelled: true }
}

function gated(items: ChatItem[], event: EventOf<'inbox.governance_gate'>): void {
  const { tool_name, tool_call_id, arguments_excerpt, deny_reason, policy_id, repeats_tool_call_id } =
    event.data
  // The person answers on the card of the original call.
  if (repeats_tool_call_id !== undefined) return
  items.push({
    kind: 'approval',
    ...placeOf(event),
    tool_call_id,
    tool_name,
    arguments_excerpt,
    deny_reason,
    policy_id,
    decision: null,
    decided_by: null,
    decided_at: null,
  })
}

function decide(items: ChatItem[], event: EventOf<'user.message'>): void {
  const { tool_call_id, metadata } = event.data
  const decision = metadata?.['decision']
  if (decision !== 'approve' && decision !== 'reject') return
  const gate = findItem(items, 'approval', item => item.tool_call_id === tool_call_id, Infinity)
  if (gate)
    items[gate.index] = {
      ...gate.item,
      decision,
      decided_by: decider(metadata),
      decided_at: event.created_at,
    }
}

function decider(metadata: Record<string, unknown> = {}): ItemOf<'approval'>['decided_by'] {
  const { decided_by_user_id: user, decided_by_service_account_id: machine } = metadata
  if (typeof user === 'string') return { kind: 'user', id: user }
  return typeof machine === 'string' ? { kind: 'service_account', id: machine } : null
}

/** The answer item that the event's iteration streams into; created on first use. */
function answerOf(
  items: ChatItem[],
  event: { created_at: string; data: { turn_id?: string | undefined; iteration_index?: number | undefined } },
): { item: ItemOf<'answer'>; index: number } {
  const { turn_id = '', iteration_index: iteration = 0 } = event.data
  const known = findItem(
    items,
    'answer',
    item => item.streaming && item.turn_id === turn_id && item.iteration === iteration,
  )
  if (known) return known
  const item: ItemOf<'answer'> = {
    kind: 'answer',
    event_id: 0,
    created_at: event.created_at,
    turn_id,
    iteration,
    content: '',
    reasoning: '',
    streaming: true,
    model: null,
    input_tokens: 0,
    output_tokens: 0,
    cost_usd: null,
    finish_reason: null,
    rating: null,
  }
  return { item, index: items.push(item) - 1 }
}

/** The turn is over, so no item is streaming any more. */
function endStreams(items: ChatItem[]): void {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]
    if (item?.kind === 'user' && item.synthetic === null) break
    if (item?.kind === 'answer' && item.streaming) items[index] = { ...item, streaming: false }
  }
}

/**
 * Marks the messages since the last answer started, which a stop left unanswered; the agent reads them in its
 * next turn. The caller owns the list; it is changed in place.
 */
function markUnanswered(items: ChatItem[]): void {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]
    if (item === undefined || item.kind === 'answer') return
    if (item.kind === 'user' && item.synthetic === null) items[index] = { ...item, unanswered: true }
  }
}

function foldBoardItems(items: ChatItem[], event: SessionEvent): void {
  if (event.type === 'board.note')
    items.push({ kind: 'board', ...placeOf(event), way: 'shared', notes: event.data.notes })
  else if (event.type === 'board.update') {
    const { kind: update, content } = event.data
    items.push({ kind: 'board', ...placeOf(event), way: 'read', update, content })
  }
}
