/**
 * The prompts of a session, one at a time. A prompt that arrives while another one runs replaces it: the turn
 * is stopped, its prompt ends as cancelled, and then the new prompt runs. Words of a person are never lost:
 * a prompt that is itself replaced before its turn is still added to the session first.
 *
 * waiting    for the end of the prompt before it
 * sent       its message is in the log, and its turn runs
 * ended      its response was sent
 */
import type { StopReason } from '@agentclientprotocol/sdk'
import type { CairnClient } from '@cairn/client'
import { asError } from '@cairn/protocol'
import { stop } from './prompt.ts'

export type Prompt = {
  /** Another prompt takes its place. Resolves when it has ended. */
  replace(): Promise<void>
  /** The client cancels the turn. While this prompt waits, that means the turn before it. */
  cancel(): Promise<void>
  /** The client withdraws this prompt, or closes the session. */
  withdraw(): Promise<void>
}
/** `signal` aborts if the prompt ends without an end of its turn. `onSent`: the message is in the log. */
export type Run = (signal: AbortSignal, onSent: () => void) => Promise<StopReason>
type Of = { id: string; running: Prompt | null }

export async function takePrompt(
  service: CairnClient,
  session: Of,
  signal: AbortSignal,
  run: Run,
): Promise<StopReason> {
  const over = new AbortController()
  const sent = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  let isWaiting = true
  let isReplaced = false
  let failure: Error | null = null

  async function stopTurn(): Promise<void> {
    // A stop before the message would leave its turn running.
    await sent.promise
    try {
      // A stopped turn reports its end; if only a decision was pending, nothing more follows.
      if (!(await stop(service, session.id))) over.abort(new Error('nothing runs any more'))
    } catch (error) {
      failure = asError(error)
      over.abort(failure)
    }
  }
  const before = session.running
  const prompt: Prompt = {
    async replace() {
      isReplaced = true
      if (!isWaiting) await stopTurn()
      await ended.promise
    },
    cancel: async () => (isWaiting ? undefined : stopTurn()),
    async withdraw() {
      if (isWaiting) over.abort(new Error('withdrawn before its turn'))
      else await stopTurn()
    },
  }
  session.running = prompt
  const withdraw = (): void => void prompt.withdraw()
  signal.addEventListener('abort', withdraw, { once: true })
  try {
    // Without a prompt before it, it does not wait at all: a cancel that follows at once is for this one.
    if (before !== null) await before.replace()
    isWaiting = false
    if (over.signal.aborted) return 'cancelled'
    const running = run(over.signal, sent.resolve)
    if (isReplaced) void stopTurn()
    const reason = await running
    if (failure !== null) throw asError(failure)
    return reason
  } finally {
    signal.removeEventListener('abort', withdraw)
    if (session.running === prompt) session.running = null
    // A stop that waits for the message must not wait forever if it was rejected.
    sent.resolve()
    ended.resolve()
  }
}
