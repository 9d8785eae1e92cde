/** Messages to a session (contract 4, 6), which may be commands or the answer to an open question. */
import {
  type Commit,
  CommitRefused,
  type Committed,
  type KeyedRequest,
  type RowChange,
  type StoredEvent,
} from '@cairn/log'
import {
  AppError,
  decodeEvent,
  type EventData,
  type EventId,
  type EventType,
  factsOf,
  type ON_QUESTION,
  type Principal,
  typesWith,
} from '@cairn/protocol'
import { isServerCommand, parseSlashCommand } from '@cairn/state'
import { answerQuestion } from '../answers/questions.ts'
import type { Deps } from '../deps.ts'
import { stopByMessage } from '../lifecycle/stop.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { TAKES_INPUT, userMessage } from '../events/messages.ts'
import { deciderOf, principalStamp } from '../principal-stamp.ts'
import { commitFor, refusedAs } from '../refusals.ts'
import { openQuestions, type OpenQuestion, typedAnswer } from '../answers/typed-answer.ts'

type OnQuestion = (typeof ON_QUESTION)[number]
/** Sent with every message, used only when the session must be reopened; built once. */
const REOPENED = sessionResumed('message')

type Message = EventData<'user.message'>
/** `answer`: the text answered the open question. */
type TakenAs = 'message' | 'answer'
export type AddMessage = {
  session_id: string
  content: string
  /** Null for a message of the server itself, which names its `synthetic` kind. */
  principal: Principal | null
  /** Rows changed in the same commit, for example that a channel's message is accepted. */
  rows?: readonly RowChange[]
  /** Stores the answer to this request in the same commit. */
  request?: KeyedRequest
  /** How to treat the text while a question is open; the default is 'answer'. */
  on_question?: OnQuestion | undefined
  /** Choices were shown with numbers, so a number selects a choice. */
  numbered?: boolean
  /** The reason of session.stopped, if the message is /stop. */
  stop_reason?: string
} & Pick<Message, 'attachments' | 'images' | 'metadata' | 'source' | 'request_key'>

/**
 * `message_id` is the event of the message itself, whatever else its commit contains. The session's row is
 * omitted: the store builds it only on request, and senders do not need it.
 */
export type AddedMessage = Pick<Committed, 'events' | 'last_id'> & {
  message_id: EventId
  type: EventType
}

/**
 * Adds a message of a person, a program or a channel; it reopens a completed or failed session. Text that is
 * typed while a question is open answers it, unless `on_question` says otherwise; a command to the server
 * never does.
 */
export async function addMessage(
  deps: Deps,
  { session_id, principal, on_question = 'answer', stop_reason = 'user', request, ...more }: AddMessage,
): Promise<AddedMessage> {
  const { numbered, rows: given = [], ...message } = more
  const rowsAs = (taken_as: TakenAs): readonly RowChange[] =>
    request === undefined
      ? given
      : [{ do: 'request.answer', request, members: { session_id, taken_as } }, ...given]
  const rows = rowsAs('message')
  const data = { ...message, ...principalStamp(principal) }
  const said = userMessage(data)
  if (isStop(message.content)) {
    const stopped = await stopByMessage(deps, session_id, said, { reason: stop_reason, rows })
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
    } catch (error) {
      if (!(error instanceof CommitRefused) || error.refusal !== 'question_open')
        throw error instanceof CommitRefused ? refusedAs('add a message to', session_id, error) : error
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
        on_question === 'refuse' ? 'on_question is "pass_over"' : typedAnswer(open, message, numbered)
      if (typeof answer === 'string') throw questionOpen(open, answer)
      const { request_key } = message
      return named(
        await answerQuestion(deps, {
          session_id,
          principal,
          ...answer,
          ...(request_key ? { request_key } : {}),
          rows: rowsAs('answer'),
        }),
      )
    } catch (error) {
      // Answered concurrently: check again for open questions.
      if (tries >= 3 || !isAnsweredBefore(error)) throw error
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
    `The agent is waiting for an answer, and this message is not one: ${why}. ` +
      'Answer the question, or send the message with on_question: "pass_over".',
    { extra: { questions: open.map(({ tool_call_id, questions }) => ({ tool_call_id, questions })) } },
  )

/** The message or typed answer with this key, if it was committed. */
export async function findRequest(
  { store }: Pick<Deps, 'store'>,
  sessionId: string,
  requestKey: string,
): Promise<{ id: EventId; type: EventType } | null> {
  for (let after: EventId | undefined = 0; after !== undefined;) {
    const page: StoredEvent[] = await store.events.read(
      sessionId,
      after,
      REQUESTS_AT_ONCE,
      typesWith('wakes'),
    )
    for (const { json } of page) {
      const event = decodeEvent(json)
      if ('request_key' in event.data && event.data.request_key === requestKey) return event
    }
    after = page.length < REQUESTS_AT_ONCE ? undefined : page.at(-1)?.id
  }
  return null
}
const REQUESTS_AT_ONCE = 500

const isStop = (content: string): boolean => parseSlashCommand(content, () => false)?.command === 'stop'
