/**
 * The progress message of a running turn: sent once, edited in place, and replaced by the answer. Best
 * effort: its state is lost on a restart, and the answer is the record.
 */
import type { DueConversation } from '@cairn/log'
import { asError, decodeEvent, type EventId } from '@cairn/protocol'
import { deliveryKey } from '@cairn/sessions'
import { type OutgoingPart, SendFailed } from './adapter.ts'
import type { Delivering } from './send-part.ts'
import {
  decideProgress,
  foldStreamed,
  NOTHING_STREAMED,
  type Shown,
  STREAMED,
  type Streamed,
} from './stream-text.ts'
import { wait } from './wait.ts'

const AT_ONCE = 200

type Followed = {
  through: EventId
  streamed: Streamed
  shown: Shown
  /** The platform rejected an edit: no more are attempted in this turn. */
  isOver: boolean
}

type Shows = Pick<DueConversation, 'session_id' | 'key' | 'target' | 'progress_message_id'>
export type Progress = {
  /** The delay after which there may be more to show; null to wait until the log grows. */
  show(delivering: Delivering, conversation: DueConversation, delivered: EventId): Promise<number | null>
  /** Best effort, if no answer replaces the message: removes its button. */
  settle(delivering: Delivering, conversation: Shows): Promise<void>
  /** The turn is over. */
  forget(sessionId: string): void
}

export function createProgress(): Progress {
  const following = new Map<string, Followed>()
  return {
    forget: sessionId => void following.delete(sessionId),
    async settle({ deps, connection, signal }, { session_id, key, target, progress_message_id }) {
      const { adapter } = connection
      const shown = following.get(session_id)?.shown ?? null
      if (adapter.hasStopButton !== true || shown === null || progress_message_id === null) return
      const part: OutgoingPart = {
        type: 'progress',
        conversation_key: key,
        target: JSON.parse(target) as OutgoingPart['target'],
        part: 0,
        text: shown.text,
      }
      await adapter.edit?.(progress_message_id, part, signal).catch((error: unknown) =>
        deps.report('warn', 'could not remove a button of a progress message', {
          connection: connection.name,
          error: asError(error).message,
        }),
      )
    },
    async show(delivering, conversation, delivered) {
      const { deps, connection } = delivering
      const { session_id } = conversation
      const { text: most, editEveryMs } = connection.adapter.limits
      if (editEveryMs === undefined || connection.settings.streaming === 'off') return null
      const target = JSON.parse(conversation.target) as OutgoingPart['target']
      const followed = await follow(delivering, session_id, delivered)
      if (followed.isOver) return null
      const every = { everyMs: editEveryMs(target), most }
      const step = decideProgress(followed.streamed, followed.shown, deps.now(), every)
      if (step.do !== 'show') return step.do === 'wait' ? step.ms : null
      // Parts of the log take precedence.
      if (connection.pause.until > deps.now()) return connection.pause.until - deps.now()
      const paced = connection.limiter.reserve(conversation.key, target, deps.now())
      followed.shown = { text: step.text, at: deps.now() + paced }
      try {
        await put(delivering, conversation, { text: step.text, target, after: delivered, ms: paced })
      } catch (error) {
        if (!(error instanceof SendFailed)) throw error
        deps.report('warn', 'progress message failed', {
          connection: connection.name,
          error: error.message,
        })
        if (error.failure !== 'rate_limited') followed.isOver = true
        else followed.shown.at = deps.now() + (error.afterMs ?? every.everyMs)
      }
      return null
    },
  }

  async function follow({ deps }: Delivering, sessionId: string, delivered: EventId): Promise<Followed> {
    let followed = following.get(sessionId)
    if (followed === undefined || followed.through < delivered) {
      followed = { through: delivered, streamed: NOTHING_STREAMED, shown: null, isOver: false }
      following.set(sessionId, followed)
    }
    for (;;) {
      const events = await deps.store.events.read(sessionId, followed.through, AT_ONCE, STREAMED)
      for (const { id, json } of events) {
        followed.streamed = foldStreamed(followed.streamed, decodeEvent(json))
        followed.through = id
      }
      if (events.length < AT_ONCE) return followed
    }
  }
}

type Showing = { text: string; target: OutgoingPart['target']; after: EventId; ms: number }

async function put(
  { deps, connection: { adapter }, fence, signal }: Delivering,
  conversation: DueConversation,
  { text, target, after, ms }: Showing,
): Promise<void> {
  const { session_id, key: conversation_key, progress_message_id } = conversation
  const part: OutgoingPart = {
    type: 'progress',
    conversation_key,
    target,
    part: 0,
    text,
    ...(adapter.hasStopButton === true ? { can_stop: true } : {}),
  }
  await wait(ms, signal)
  if (signal.aborted) return
  if (progress_message_id !== null) return adapter.edit?.(progress_message_id, part, signal)
  const key = deliveryKey({ session_id, event_id: after, part: PROGRESS })
  const { message_id } = await adapter.send(part, key, signal)
  conversation.progress_message_id = message_id
  await deps.store.channels.saveProgress(session_id, message_id, fence)
}
/** A part number that no event uses. */
const PROGRESS = -2
