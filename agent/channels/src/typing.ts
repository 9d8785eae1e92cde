/** The typing indicator while a turn runs and nothing waits for the person. Best effort. */
import type { DueConversation } from '@cairn/log'
import type { Delivering } from './send-part.ts'

export type Typing = { touch(delivering: Delivering, conversation: DueConversation): void }

/** The indicator is renewed this long before it expires. */
const BEFORE_MS = 1_000

export function createTyping(): Typing {
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
