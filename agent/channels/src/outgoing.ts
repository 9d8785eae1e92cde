/**
 * Sends what is due on a connection: automatic replies, retries of failed deliveries, and new events of the
 * logs.
 */
import type { DueConversation } from '@cairn/log'
import { deliverConversation, deliverReply, redeliver } from './deliver.ts'
import type { ChannelDeps, Connection } from './deps.ts'
import { createProgress } from './progress.ts'
import type { Delivering } from './send-part.ts'
import { createKeyedTasks } from './keyed-tasks.ts'

const AT_ONCE = 32
const PAGE = 1000

export type Outgoing = {
  /** Starts everything that is due and returns without waiting for it. */
  pass(epoch: number): Promise<void>
  idle(): Promise<void>
}

export function createOutgoing(
  deps: ChannelDeps,
  connection: Connection,
  signal: AbortSignal,
  onError: (error: unknown) => void,
  /** Requests another pass. */
  nudge: (afterMs?: number) => void,
): Outgoing {
  const { channels } = deps.store
  const tasks = createKeyedTasks(onError)
  const progress = createProgress()
  const typing = createTyping()
  /** Position up to which the log of a running turn was delivered; skipped until the log grows. */
  const looked = new Map<string, number>()
  /** Where the last pass stopped for lack of capacity, so that the next one continues there. */
  let after = ''
  let isCut = false

  /** False without capacity. */
  function begin(by: Delivering, conversation: DueConversation): boolean {
    const { session_id, last_id, running } = conversation
    typing.touch(by, conversation)
    if (running === 1 && looked.get(session_id) === last_id) return true
    if (tasks.size() >= AT_ONCE) return false
    tasks.begin(session_id, async () => {
      looked.delete(session_id)
      const later = await deliverConversation(by, conversation, progress)
      if (later !== null) return nudge(later)
      if (running === 1) looked.set(session_id, last_id)
      // Others were skipped for lack of capacity, or this session's log has grown meanwhile.
      const isAhead = ((await deps.store.events.last([session_id])).get(session_id)?.id ?? 0) > last_id
      if (isCut || isAhead) nudge()
    })
    return true
  }

  /** All due conversations, round-robin from the last one that was started. */
  async function look(by: Delivering): Promise<void> {
    const start = after
    let isSecondHalf = start === ''
    isCut = false
    for (;;) {
      const due = await channels.dueConversations(connection.id, after, PAGE)
      for (const conversation of due) {
        if (isSecondHalf && start !== '' && conversation.session_id > start) return
        if (!begin(by, conversation)) {
          isCut = true
          return
        }
        after = conversation.session_id
      }
      if (due.length === PAGE) continue
      after = ''
      if (isSecondHalf) return
      isSecondHalf = true
    }
  }

  return {
    idle: tasks.idle,
    async pass(epoch) {
      connection.health.state = (await channels.getConnection(connection.id))?.state ?? 'disabled'
      if (connection.health.state === 'disabled') return
      const by: Delivering = { deps, connection, fence: { connection_id: connection.id, epoch }, signal }
      for (const notice of await channels.dueReplies(connection.id, AT_ONCE))
        tasks.begin(`notice ${notice.event_id}`, () => deliverReply(by, notice))
      for (const redo of await channels.dueRedos(connection.id, AT_ONCE))
        tasks.begin(redo.session_id, () => redeliver(by, redo))
      await look(by)
    },
  }
}

type Typing = { touch(delivering: Delivering, conversation: DueConversation): void }

/** The indicator is renewed this long before it expires. */
const BEFORE_MS = 1_000

/** The typing indicator while a turn runs and nothing waits for the person. Best effort. */
function createTyping(): Typing {
  const shownAt = new Map<string, number>()
  return {
    touch({ deps, connection, signal }, { session_id, running, waiting, target }) {
      const { limits, typing } = connection.adapter
      if (typing === undefined || limits.typingMs === undefined) return
      if (running === 0 || waiting === 1) return void shownAt.delete(session_id)
      const now = deps.now()
      if (now < (shownAt.get(session_id) ?? 0) + limits.typingMs - BEFORE_MS) return
      shownAt.set(session_id, now)
      typing(JSON.parse(target) as Record<string, unknown>, signal).catch((error: unknown) =>
        deps.report('warn', 'typing indicator failed', { connection: connection.name, error: String(error) }),
      )
    },
  }
}
