/**
 * What people say (contract 4, 6): messages, which may be commands or the answer to a question that waits.
 */
import { type Commit, CommitRefused, type Committed, type RowChange, type StoredEvent } from '@cairn/log'
import {
  AppError,
  decodeEvent,
  type EventData,
  type EventDraft,
  type EventId,
  type EventType,
  factsOf,
  type ON_QUESTION,
  type Principal,
  typesWith,
} from '@cairn/protocol'
import { isServerCommand, parseSlashCommand } from '@cairn/state'
import { answerQuestion } from './answers.ts'
import { commitOverTree } from './over-tree.ts'
import type { Deps } from './deps.ts'
import { hasWorkToStop, stopCommit } from './lifecycle.ts'
import { resumed } from './lifecycle-events.ts'
import { TAKES_INPUT, userMessage } from './message-events.ts'
import { deciderOf, principalStamp } from './principal-stamp.ts'
import { commitFor, refusedAs } from './refusals.ts'
import { openQuestions, type OpenQuestion, typedAnswer } from './typed-answer.ts'

type OnQuestion = (typeof ON_QUESTION)[number]
/** Goes along with every message and is written for few: made once. */
const REOPENED = resumed('message')

type Message = EventData<'user.message'>
export type AddMessage = {
  session_id: string
  content: string
  /** Null for a message that the server itself makes; those name their `synthetic` kind. */
  principal: Principal | null
  /** Changed in the same commit: that a channel's message is accepted. */
  rows?: readonly RowChange[]
  /** What the text is while a question waits; 'answer' where nobody says. */
  on_question?: OnQuestion | undefined
  /** The choices of a question are shown with numbers, and a number is the answer that it stands at. */
  numbered?: boolean
  /** Of session.stopped, where the message is /stop. */
  stop_reason?: string
} & Pick<Message, 'attachments' | 'images' | 'metadata' | 'source' | 'request_key'>

/**
 * `message_id` is the event of the message itself, whatever stands before and after it in its commit. The
 * session's row is left out: the store makes it only for who asks, and the sender of a message does not.
 */
export type AddedMessage = Pick<Committed, 'events' | 'last_id'> & {
  message_id: EventId
  type: EventType
}

/**
 * A message of a person, a machine or a channel; it reopens a completed or failed session. What is typed
 * while a question waits is its answer, unless `on_question` says otherwise; a command to the server never
 * is.
 */
export async function addMessage(
  deps: Deps,
  { session_id, principal, on_question = 'answer', rows = [], stop_reason = 'user', ...more }: AddMessage,
): Promise<AddedMessage> {
  const { numbered, ...message } = more
  const data = { ...message, ...principalStamp(principal) }
  const said = userMessage(data)
  if (isStop(message.content)) {
    const stopped = await stopBy(deps, session_id, said, { reason: stop_reason, rows })
    if (stopped) return named(stopped)
  }
  const commit: Commit = {
    session_id,
    events: [said],
    expect_status: TAKES_INPUT,
    reopen: REOPENED,
    rows,
    without_session: true,
  }
  if (principal === null || isServerCommand(message.content))
    return named(await commitFor(deps.store, 'add a message to', commit))
  for (let tries = 0; ; tries++) {
    try {
      return named(await deps.store.commit({ ...commit, expect_no_question: true }))
    } catch (thrown) {
      if (!(thrown instanceof CommitRefused) || thrown.refusal !== 'question_open')
        throw thrown instanceof CommitRefused ? refusedAs('add a message to', session_id, thrown) : thrown
    }
    const open = await openQuestions(deps.store, principal, session_id)
    try {
      if (on_question === 'pass_over') {
        const passed = userMessage({ ...data, passes_over: open.map(one => one.tool_call_id) })
        return named(
          await deps.store.commit({
            ...commit,
            events: [passed],
            rows: [...rows, ...open.map(passOver(principal))],
          }),
        )
      }
      const answer =
        on_question === 'refuse'
          ? 'the message was not to be its answer'
          : typedAnswer(open, message, numbered)
      if (typeof answer === 'string') throw questionOpen(open, answer)
      const { request_key } = message
      return named(
        await answerQuestion(deps, {
          session_id,
          principal,
          ...answer,
          ...(request_key ? { request_key } : {}),
          rows,
        }),
      )
    } catch (thrown) {
      // Somebody answered in between: look again at what waits now.
      if (tries >= 3 || !isAnsweredBefore(thrown)) throw thrown
    }
  }
}

function named({ events, last_id }: Committed): AddedMessage {
  const message = events.find(event => factsOf(event.type).wakes)
  if (message === undefined) throw new Error('[addMessage] the store acknowledged a commit without its event')
  return { events, last_id, message_id: message.id, type: message.type }
}

const passOver =
  (principal: Principal) =>
  ({ id }: OpenQuestion): RowChange => ({
    do: 'inbox.answer',
    id,
    decision: 'passed_over',
    status: 'expired',
    decided_by: deciderOf(principal),
  })
const isAnsweredBefore = (thrown: unknown): boolean =>
  thrown instanceof CommitRefused
    ? thrown.refusal === 'already_answered'
    : thrown instanceof AppError && thrown.code === 'already_answered'

const questionOpen = (open: readonly OpenQuestion[], why: string): AppError =>
  new AppError(
    'question_open',
    `The agent waits for an answer, and this is none: ${why}. Answer at the question, or send it as a ` +
      'new message instead (on_question: "pass_over").',
    { extra: { questions: open.map(({ tool_call_id, questions }) => ({ tool_call_id, questions })) } },
  )

/** The message or typed answer that came with this key, if one ever landed. */
export async function findRequest(
  { store }: Pick<Deps, 'store'>,
  sessionId: string,
  requestKey: string,
): Promise<{ id: EventId; type: EventType } | null> {
  for (let after: EventId | undefined = 0; after !== undefined;) {
    const page: StoredEvent[] = await store.read(sessionId, after, REQUESTS_AT_ONCE, typesWith('wakes'))
    for (const { json } of page) {
      const event = decodeEvent(json)
      if ('request_key' in event.data && event.data.request_key === requestKey) return event
    }
    after = page.length < REQUESTS_AT_ONCE ? undefined : page.at(-1)?.id
  }
  return null
}
const REQUESTS_AT_ONCE = 500

const withChanges = (commit: Commit, rows: readonly RowChange[]): Commit => ({
  ...commit,
  rows: [...rows, ...(commit.rows ?? [])],
})

const isStop = (content: string): boolean => parseSlashCommand(content, () => false)?.command === 'stop'

/**
 * A `/stop` while a turn runs, is due or waits, or while children are open, aborts all that in the commit of
 * the message itself; null when there is nothing to stop.
 */
async function stopBy(
  deps: Deps,
  sessionId: string,
  said: EventDraft,
  { reason, rows }: { reason: string; rows: readonly RowChange[] },
): Promise<Committed | null> {
  try {
    return await commitOverTree(deps, 'stop', sessionId, async around => {
      const { session, below } = around
      const isOver = session.status === 'paused' || session.status === 'archived'
      const isAtWork = session.status === 'active' ? await hasWorkToStop(deps, around) : below.length > 0
      return isAtWork && !isOver ? withChanges(await stopCommit(deps, around, reason, said), rows) : null
    })
  } catch (thrown) {
    // The turn ended in between; the message is answered like any other.
    if (thrown instanceof AppError && thrown.code === 'wrong_state') return null
    throw thrown
  }
}
