/**
 * A question of a running call (contract 6): an inbox item of the call, answered like one of
 * ask_user_question. The call continues with the answer. If its runner dies first, the answer still ends the
 * call, whose outcome is then unknown (turn-calls.ts).
 */
import type { RowChange } from '@cairn/log'
import { type Answer, EVENTS } from '@cairn/protocol'
import { createQuestionItem } from '@cairn/sessions'
import type { AskPerson } from '../tools/tool.ts'
import type { TurnContext } from './context.ts'

type Deps = Pick<TurnContext, 'log' | 'store' | 'newId' | 'clock' | 'limits' | 'lease'>

export const askPersonFor =
  (deps: Deps, tool_call_id: string): AskPerson =>
  async ({ questions, context }, signal) => {
    const { log, newId } = deps
    const data = EVENTS['inbox.input_required'].write.parse({
      tool_call_id,
      questions,
      ...(context === undefined ? {} : { context }),
    })
    const { event, item_id } = createQuestionItem({ newId }, data)
    const asked = (await log.append([event])).last_id
    const answer = await waitForAnswer(deps, { tool_call_id, item_id, asked }, signal)
    if (answer === 'late') await closeQuestion(deps, tool_call_id)
    return answer === 'late' ? null : answer
  }

type Asked = { tool_call_id: string; item_id: string; asked: number }
type Found = readonly Answer[] | null

/** `late`: no answer within `limits.input_wait_s`. Rejects when the call or the lease ends. */
async function waitForAnswer(deps: Deps, asked: Asked, signal: AbortSignal): Promise<Found | 'late'> {
  const { store, clock, limits, lease } = deps
  const done = Promise.withResolvers<Found | 'late'>()
  const poll = (): void =>
    void readAnswer(deps, asked).then(
      found => (found === undefined ? undefined : done.resolve(found)),
      (error: unknown) => done.reject(error as Error),
    )
  const abort = (): void => done.reject(signal.reason as Error)
  const unwatch = store.events.watch(lease.session_id, poll)
  const cancel = clock.after(limits.input_wait_s * 1000, () => done.resolve('late'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    signal.throwIfAborted()
    // It may have been answered since the commit.
    poll()
    return await done.promise
  } finally {
    unwatch()
    cancel()
    signal.removeEventListener('abort', abort)
  }
}

/** Undefined: the question is open. Null: it was closed without an answer. */
async function readAnswer({ log, store }: Deps, asked: Asked): Promise<Found | undefined> {
  const isOpen = (await store.inbox.get(asked.item_id))?.status === 'pending'
  // Read after the item: the answer is in the commit that closes it.
  await log.catchUp()
  const call = log.position().conversation.open.find(each => each.tool_call_id === asked.tool_call_id)
  const answered = call?.answered ?? null
  if (answered !== null && answered.event_id > asked.asked) return answered.responses
  return isOpen ? undefined : null
}

async function closeQuestion({ log }: Deps, tool_call_id: string): Promise<void> {
  const row: RowChange = {
    do: 'inbox.expire_call',
    tool_call_id,
    kind: 'input_required',
    decision: 'timed_out',
  }
  await log.append([], { rows: [row] })
}
