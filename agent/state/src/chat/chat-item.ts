/** The items of a chat. */
import type {
  Answer,
  Attachment,
  EventData,
  EventId,
  EventType,
  Image,
  ImportStamp,
  Principal,
  Question,
} from '@cairn/protocol'
import type { ConversationMessage } from '../conversation/messages.ts'
import type { TaskItem } from './task-item.ts'
import type { WorkerItem } from './worker-item.ts'

/** What a session wrote to the board of its tree and read from it. */
type SharedNote = EventData<'board.note'>['notes'][number]
export type BoardItem = { kind: 'board'; event_id: EventId; created_at: string } & (
  | { way: 'shared'; notes: readonly SharedNote[] }
  /** The text that the model read: the whole board (snapshot) or the new notes (delta). */
  | { way: 'read'; update: 'snapshot' | 'delta'; content: string }
)

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
      /** The turn was stopped before the agent answered this message. */
      unanswered?: true
    }
  | {
      /** The conversation that a fork starts with, or a part of an imported one. */
      kind: 'history'
      event_id: EventId
      created_at: string
      forked_from: { session_id: string; event_id: EventId } | null
      imported: ImportStamp | null
      messages: readonly ConversationMessage[]
    }
  | {
      kind: 'answer'
      /** 0 while streaming. */
      event_id: EventId
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
      /** The decider, if the log names one. */
      decided_by: Pick<Principal, 'kind' | 'id'> | null
      decided_at: string | null
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
  | WorkerItem
  | TaskItem
  | BoardItem
export type ItemOf<K extends ChatItem['kind']> = Extract<ChatItem, { kind: K }>

/**
 * The newest item of a kind that matches, searched from the end, where it nearly always is. The search stops
 * after `reach` items, so that a miss does not scan the whole log.
 */
export function findItem<K extends ChatItem['kind']>(
  items: readonly ChatItem[],
  kind: K,
  fits: (item: ItemOf<K>) => boolean,
  reach = 500,
): { item: ItemOf<K>; index: number } | null {
  for (let index = items.length - 1; index >= Math.max(0, items.length - reach); index--) {
    const item = items[index]
    if (item?.kind === kind && fits(item as ItemOf<K>)) return { item: item as ItemOf<K>, index }
  }
  return null
}

/** Event and time of an item's start. */
export const placeOf = ({ id, created_at }: { id: EventId; created_at: string }) => ({
  event_id: id,
  created_at,
})
