import type { LogStore } from '@cairn/log'
import { syntheticMessage } from '@cairn/sessions'

/** Fills a session's log with messages, many to a commit. */
export async function commitMessages(
  store: LogStore,
  session: string,
  count: number,
  content: string,
): Promise<void> {
  const atOnce = 500
  for (let done = 0; done < count; done += atOnce) {
    await store.commit({
      session_id: session,
      events: Array.from({ length: Math.min(atOnce, count - done) }, () =>
        syntheticMessage('bench', content),
      ),
    })
  }
}
