/**
 * What a person sees of a session, as a fold of its log: the chat, the plan, what is being waited for, the
 * sums. The web UI folds the stream with it. Folding is by batch: a batch copies what it changes once, so a
 * long log stays linear.
 */
import {
  type Answer,
  type Attachment,
  type EventId,
  type EventOf,
  type EventType,
  factsOf,
  type Image,
  type Principal,
  type Question,
  type SessionEvent,
  type Todo,
  toolError,
} from '@cairn/protocol'
import { answerText } from './open-calls.ts'
import { capabilityChanges, type CapabilityStates, emptyCapabilities } from './capabilities.ts'
import { addUsage, usageOf } from './usage.ts'

export type ToolStatus = 'asked' | 'running' | 'waiting' | 'done' | 'failed' | 'refused'

export type ChatItem =
  | {
      kind: 'user'
      event_id: EventId
      created_at: string
      content: string
      attachments: readonly Attachment[]
      images: readonly Image[]
      synthetic: string | null
    }
  | {
      kind: 'answer'
      /** 0 while it streams. */ event_id: EventId
      created_at: string
      turn_id: string
      iteration: number
      content: string
      reasoning: string
      streaming: boolean
      model: string | null
      input_tokens: number
      output_tokens: number
      cost_usd: number | null
      finish_reason: string | null
      rating: 'up' | 'down' | null
    }
  | {
      kind: 'tool'
      event_id: EventId
      created_at: string
      tool_call_id: string
      name: string
      arguments: Record<string, unknown> | string
      status: ToolStatus
      content: string | null
      elapsed_ms: number | null
    }
  | {
      kind: 'question'
      event_id: EventId
      created_at: string
      tool_call_id: string
      questions: readonly Question[]
      context: string | null
      responses: readonly Answer[] | null
      cancelled: boolean
    }
  | {
      kind: 'approval'
      event_id: EventId
      created_at: string
      tool_call_id: string
      tool_name: string
      arguments_excerpt: string
      deny_reason: string
      policy_id: string
      decision: 'approve' | 'reject' | null
      /** Who decided, where the log says so. */
      decided_by: Pick<Principal, 'kind' | 'id'> | null
    }
  | {
      kind: 'artifact'
      event_id: EventId
      created_at: string
      artifact_id: string
      name: string
      artifact_kind: string
    }
  | {
      kind: 'notice'
      event_id: EventId
      created_at: string
      type: EventType
      level: 'info' | 'warning' | 'error'
      text: string
    }

export type SessionView = CapabilityStates & {
  readonly items: readonly ChatItem[]
  readonly plan: readonly Todo[]
  readonly title: string | null
  /** The last event that may have changed the session's state; a record that is older is asked for again. */
  readonly state_id: EventId
  readonly last_id: EventId
  readonly message_count: number
  readonly tool_call_count: number
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cost_usd: number
  readonly unpriced_models: readonly string[]
  readonly context_tokens: number
  readonly context_window: number
}

export const emptySessionView: SessionView = {
  items: [],
  ...emptyCapabilities,
  plan: [],
  title: null,
  state_id: 0,
  last_id: 0,
  message_count: 0,
  tool_call_count: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost_usd: 0,
  unpriced_models: [],
  context_tokens: 0,
  context_window: 0,
}

/**
 * The view after a batch. Events at or before `last_id` are passed over, so a repeated batch changes nothing.
 */
export function foldSessionView(view: SessionView, events: readonly SessionEvent[]): SessionView {
  const fresh = events.filter(event => event.id > view.last_id)
  if (fresh.length === 0) return view
  const draft: Draft = { ...view, items: [...view.items] }
  for (const event of fresh) {
    if (event.id <= draft.last_id) continue
    fold(draft, event)
    if (factsOf(event.type).usage) count(draft, event)
    Object.assign(draft, capabilityChanges(draft, event))
    draft.last_id = event.id
    if (changesState(event.type)) draft.state_id = event.id
  }
  return draft
}

/**
 * Whether an event may move the session's derived state, which the server's record tells: it asks for work,
 * asks something of a person, or begins or ends something. Decisions of people are messages.
 */
function changesState(type: EventType): boolean {
  const { wakes, asks, status, saga } = factsOf(type)
  return wakes === true || asks !== undefined || status !== undefined || saga !== undefined
}

type Draft = { -readonly [K in keyof SessionView]: SessionView[K] } & { items: ChatItem[] }
type ItemOf<K extends ChatItem['kind']> = Extract<ChatItem, { kind: K }>

function fold(view: Draft, event: SessionEvent): void {
  const at = { event_id: event.id, created_at: event.created_at }
  switch (event.type) {
    case 'user.message': {
      view.message_count++
      const { content, attachments = [], images = [], synthetic = null } = event.data
      if (synthetic === 'governance_decision') decide(view, event)
      for (const call of event.data.passes_over ?? []) passOver(view, call, Infinity)
      view.items.push({ kind: 'user', ...at, content, attachments, images, synthetic })
      return
    }
    case 'llm.delta':
      return stream(view, event)
    case 'llm.thinking': {
      const answer = answerOf(view, event, at)
      put(view, answer.index, { ...answer.item, reasoning: event.data.reasoning })
      return
    }
    case 'llm.response':
      return respond(view, event, at)
    case 'tool.call': {
      view.tool_call_count++
      const { tool_call_id, name, arguments: args } = event.data
      const known = find(view, 'tool', item => item.tool_call_id === tool_call_id)
      const item: ItemOf<'tool'> = {
        kind: 'tool',
        ...at,
        tool_call_id,
        name,
        arguments: args,
        status: 'running',
        content: null,
        elapsed_ms: null,
      }
      if (known) put(view, known.index, item)
      else view.items.push(item)
      return
    }
    case 'tool.result': {
      const { tool_call_id, content, elapsed_ms } = event.data
      const known = find(view, 'tool', item => item.tool_call_id === tool_call_id)
      if (known)
        put(view, known.index, {
          ...known.item,
          status: toolError(content) !== null ? (elapsed_ms === 0 ? 'refused' : 'failed') : 'done',
          content,
          elapsed_ms,
        })
      passOver(view, tool_call_id)
      return
    }
    case 'inbox.input_required': {
      const { tool_call_id, questions, context = null } = event.data
      const known = find(view, 'tool', item => item.tool_call_id === tool_call_id)
      if (known) put(view, known.index, { ...known.item, status: 'waiting' })
      view.items.push({
        kind: 'question',
        ...at,
        tool_call_id,
        questions,
        context,
        responses: null,
        cancelled: false,
      })
      return
    }
    case 'ask_user_question.response': {
      const { tool_call_id, responses } = event.data
      const asked = find(view, 'question', item => item.tool_call_id === tool_call_id, Infinity)
      if (asked) put(view, asked.index, { ...asked.item, responses })
      const known = find(view, 'tool', item => item.tool_call_id === tool_call_id, Infinity)
      if (known) put(view, known.index, { ...known.item, status: 'done', content: answerText(responses) })
      return
    }
    case 'inbox.governance_gate': {
      const { tool_name, tool_call_id, arguments_excerpt, deny_reason, policy_id, repeats_tool_call_id } =
        event.data
      // The card of the call that it repeats is the one to answer.
      if (repeats_tool_call_id !== undefined) return
      view.items.push({
        kind: 'approval',
        ...at,
        tool_call_id,
        tool_name,
        arguments_excerpt,
        deny_reason,
        policy_id,
        decision: null,
        decided_by: null,
      })
      return
    }
    case 'artifact.created':
      view.items.push({
        kind: 'artifact',
        ...at,
        artifact_id: event.data.artifact_id,
        name: event.data.name,
        artifact_kind: event.data.kind,
      })
      return
    case 'todo.updated':
      view.plan = event.data.todos
      return
    case 'user.feedback': {
      const rated = find(view, 'answer', item => item.event_id === event.data.target_event_id, Infinity)
      if (rated && event.data.source === 'user')
        put(view, rated.index, { ...rated.item, rating: event.data.rating })
      return
    }
    case 'session.title_updated':
      view.title = event.data.title
      return
    case 'advisor.result':
      if (event.data.content !== '')
        notice(view, event, 'info', `Advice from ${event.data.model}: ${event.data.content}`)
      return
    case 'context.compact':
      notice(
        view,
        event,
        'info',
        event.data.strategy === 'clear'
          ? 'Conversation cleared.'
          : `Context compacted: ${event.data.original_message_count} messages became ` +
              `${event.data.compressed_message_count}.`,
      )
      return
    case 'saga.compensate': {
      const failed = event.data.failed_steps?.length ?? 0
      const undone = event.data.steps_rolled_back.length
      return notice(
        view,
        event,
        failed > 0 ? 'error' : 'warning',
        `Rolled back: ${undone} ${undone === 1 ? 'step' : 'steps'} ` +
          `undone${failed > 0 ? `, ${failed} could not be: somebody has to look` : ''}.`,
      )
    }
    case 'session.pause':
      ended(view)
      return notice(view, event, 'info', 'Paused.')
    case 'session.complete':
      ended(view)
      if (event.data.reason !== 'completed') notice(view, event, 'warning', COMPLETE[event.data.reason])
      return
    case 'session.fail':
      ended(view)
      return notice(view, event, 'error', event.data.error)
    case 'session.stopped':
      ended(view)
      return notice(view, event, 'info', 'Stopped.')
    case 'session.model_escalated':
      return notice(view, event, 'warning', `Switched to ${event.data.model}: ${event.data.reason}.`)
    case 'harness.crash':
      ended(view)
      return notice(view, event, 'error', `The runtime failed: ${event.data.error}`)
    case 'harness.recovered':
      return notice(
        view,
        event,
        'warning',
        `Recovered after ${Math.round(event.data.stale_seconds)} s without a worker.`,
      )
    default:
      return
  }
}

const COMPLETE = {
  budget_exhausted: 'The iteration budget was used up.',
  tool_loop: 'Ended: the same call kept giving the same result.',
  stopped: 'Stopped.',
} as const

function stream(view: Draft, event: EventOf<'llm.delta'>): void {
  const { item, index } = answerOf(view, event, { event_id: event.id, created_at: event.created_at })
  if (event.data.reset) {
    put(view, index, { ...item, content: '', reasoning: '' })
    return
  }
  put(view, index, {
    ...item,
    content: item.content + (event.data.content ?? ''),
    reasoning: item.reasoning + (event.data.reasoning ?? ''),
  })
}

function respond(
  view: Draft,
  event: EventOf<'llm.response'>,
  at: { event_id: EventId; created_at: string },
): void {
  const {
    message,
    model,
    input_tokens,
    output_tokens,
    cost_usd = null,
    finish_reason,
    context_window,
  } = event.data
  const { item, index } = answerOf(view, event, at)
  put(view, index, {
    ...item,
    ...at,
    content: message.content,
    streaming: false,
    model,
    input_tokens,
    output_tokens,
    cost_usd,
    finish_reason,
  })
  for (const call of message.tool_calls ?? []) {
    if (find(view, 'tool', tool => tool.tool_call_id === call.id)) continue
    view.items.push({
      kind: 'tool',
      ...at,
      tool_call_id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
      status: 'asked',
      content: null,
      elapsed_ms: null,
    })
  }
  // A reply of the server itself says nothing about the context of the model.
  if (context_window > 0 && finish_reason !== 'command') {
    view.context_tokens = input_tokens + output_tokens
    view.context_window = context_window
  }
}

/** The answer item that the event's iteration streams into, made if it is not there yet. */
function answerOf(
  view: Draft,
  event: { created_at: string; data: { turn_id?: string | undefined; iteration_index?: number | undefined } },
  at: { event_id: EventId; created_at: string },
) {
  const turn_id = event.data.turn_id ?? ''
  const iteration = event.data.iteration_index ?? 0
  const known = find(
    view,
    'answer',
    item => item.streaming && item.turn_id === turn_id && item.iteration === iteration,
  )
  if (known) return known
  const item: ItemOf<'answer'> = {
    kind: 'answer',
    event_id: 0,
    created_at: at.created_at,
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
  view.items.push(item)
  return { item, index: view.items.length - 1 }
}

/** A question that is over without an answer. */
function passOver(view: Draft, callId: string, reach?: number): void {
  const asked = find(view, 'question', item => item.tool_call_id === callId, reach)
  if (asked && asked.item.responses === null) put(view, asked.index, { ...asked.item, cancelled: true })
}

function decide(view: Draft, event: EventOf<'user.message'>): void {
  const decision = event.data.metadata?.['decision']
  if (decision !== 'approve' && decision !== 'reject') return
  const gate = find(view, 'approval', item => item.tool_call_id === event.data.tool_call_id, Infinity)
  if (gate) put(view, gate.index, { ...gate.item, decision, decided_by: decider(event.data.metadata) })
}

function decider(metadata: Record<string, unknown> = {}): ItemOf<'approval'>['decided_by'] {
  const { decided_by_user_id: user, decided_by_service_account_id: machine } = metadata
  if (typeof user === 'string') return { kind: 'user', id: user }
  return typeof machine === 'string' ? { kind: 'service_account', id: machine } : null
}

/** The turn is over: nothing streams any more. */
function ended(view: Draft): void {
  for (let index = view.items.length - 1; index >= 0; index--) {
    const item = view.items[index]
    if (item?.kind === 'user' && item.synthetic === null) break
    if (item?.kind === 'answer' && item.streaming) put(view, index, { ...item, streaming: false })
  }
}

function count(view: Draft, event: SessionEvent): void {
  Object.assign(view, addUsage(view, usageOf(event)))
  const unpriced = (event.data as { cost_unpriced_model?: string }).cost_unpriced_model
  if (unpriced !== undefined && !view.unpriced_models.includes(unpriced))
    view.unpriced_models = [...view.unpriced_models, unpriced]
}

const notice = (view: Draft, event: SessionEvent, level: ItemOf<'notice'>['level'], text: string): void => {
  view.items.push({
    kind: 'notice',
    event_id: event.id,
    created_at: event.created_at,
    type: event.type,
    level,
    text,
  })
}

const put = (view: Draft, index: number, item: ChatItem): void => {
  view.items[index] = item
}

/**
 * The latest item of a kind that fits, looked for from the end, where it nearly always is. A search that may
 * well miss reaches back a bounded way only: else every new item would cost the length of the log.
 */
function find<K extends ChatItem['kind']>(
  view: Draft,
  kind: K,
  fits: (item: ItemOf<K>) => boolean,
  reach = 500,
): { item: ItemOf<K>; index: number } | null {
  for (let index = view.items.length - 1; index >= Math.max(0, view.items.length - reach); index--) {
    const item = view.items[index]
    if (item?.kind === kind && fits(item as ItemOf<K>)) return { item: item as ItemOf<K>, index }
  }
  return null
}
