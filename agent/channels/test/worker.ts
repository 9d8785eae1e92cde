/** A worker that answers every message with `echo: <text>`. */
import type { Claim, LogStore } from '@cairn/log'
import { decodeEvent, type EventDraft, writer } from '@cairn/protocol'

const turn = writer('turn')

export const response = (content: string): EventDraft =>
  turn('llm.response', {
    message: { role: 'assistant', content },
    model: 'm',
    input_tokens: 1,
    output_tokens: 1,
    reasoning_tokens: 0,
    cache_read_tokens: 0,
    finish_reason: 'stop',
    context_window: 1000,
  })
export function startEcho(store: LogStore) {
  let isStopped = false
  let working: Promise<void> = Promise.resolve()
  async function answer({ session, fence }: Claim): Promise<void> {
    const fresh = await store.events.read(session.id, session.cursor, 100, ['user.message'])
    const texts = fresh.map(({ json }) => String((decodeEvent(json).data as { content: string }).content))
    await store.commit({
      session_id: session.id,
      fence,
      events: texts.map(text => response(`echo: ${text}`)),
      // Events after the read are for the next poll.
      cursor: fresh.at(-1)?.id ?? session.wake_id,
      release_lease: true,
    })
  }
  const look = (): void => {
    working = working.then(async () => {
      if (isStopped) return
      for (;;) {
        const claims = await store.leases.claim('echo', 10, 60_000)
        if (claims.length === 0) return
        for (const claim of claims) await answer(claim)
      }
    })
  }
  const stop = store.leases.watch(look)
  look()
  return async (): Promise<void> => {
    isStopped = true
    stop()
    await working
  }
}
