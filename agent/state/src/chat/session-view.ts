/**
 * What a person sees of a session, as a fold of its log: the chat, the plan, what it waits for, the totals.
 * The web UI folds the event stream with it. It folds batches and copies each changed part once per batch, so
 * a long log takes linear time.
 */
import { type EventId, type EventType, factsOf, type SessionEvent, type Todo } from '@cairn/protocol'
import { capabilityChanges, type CapabilityStates, emptyCapabilities } from '../capabilities/index.ts'
import { foldItem } from './chat-fold.ts'
import type { ChatItem } from './chat-item.ts'
import { addUsage, usageOf } from '../usage.ts'

export type SessionView = CapabilityStates & {
  readonly items: readonly ChatItem[]
  readonly plan: readonly Todo[]
  readonly title: string | null
  /**
   * The last event that may have changed the session's state; an older session record must be fetched again.
   */
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

/** The view after a batch. Events up to `last_id` are skipped, so a repeated batch changes nothing. */
export function foldSessionView(view: SessionView, events: readonly SessionEvent[]): SessionView {
  const fresh = events.filter(event => event.id > view.last_id)
  if (fresh.length === 0) return view
  const draft: MutableView = { ...view, items: [...view.items] }
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
 * Whether an event may change the session's derived state, which is part of the server's session record: it
 * requests work, asks a person, or starts or ends something. Decisions of people are messages.
 */
function changesState(type: EventType): boolean {
  const { wakes, asks, status, saga } = factsOf(type)
  return wakes === true || asks !== undefined || status !== undefined || saga !== undefined
}

type MutableView = { -readonly [K in keyof SessionView]: SessionView[K] } & { items: ChatItem[] }

/** Everything but the chat: the plan, the title, the counters. */
function fold(view: MutableView, event: SessionEvent): void {
  foldItem(view.items, event)
  switch (event.type) {
    case 'user.message':
      view.message_count++
      return
    case 'tool.call':
      view.tool_call_count++
      return
    case 'llm.response': {
      const { input_tokens, output_tokens, finish_reason, context_window } = event.data
      // A reply of the server itself does not measure the model's context.
      if (context_window === 0 || finish_reason === 'command') return
      view.context_tokens = input_tokens + output_tokens
      view.context_window = context_window
      return
    }
    case 'todo.updated':
      view.plan = event.data.todos
      return
    case 'session.title_updated':
      view.title = event.data.title
      return
    default:
  }
}

function count(view: MutableView, event: SessionEvent): void {
  Object.assign(view, addUsage(view, usageOf(event)))
  const unpriced = (event.data as { cost_unpriced_model?: string }).cost_unpriced_model
  if (unpriced !== undefined && !view.unpriced_models.includes(unpriced))
    view.unpriced_models = [...view.unpriced_models, unpriced]
}
