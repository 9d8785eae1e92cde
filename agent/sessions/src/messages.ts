/**
 * What people say: messages and answers to questions (contract 4, 6). The writer of user.message and
 * ask_user_question.response.
 */
import { CommitRefused, type Committed, type RowChange, type StoredEvent } from '@cairn/log'
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
  writer,
} from '@cairn/protocol'
import { isServerCommand, parseSlashCommand } from '@cairn/state'
import type { Deps } from './deps.ts'
import { commitOverTree } from './cascade.ts'
import { stopCommit } from './lifecycle.ts'
import { resumed } from './lifecycle-events.ts'
import { deciderOf, principalStamp } from './principal-stamp.ts'
import { commitFor, refusedAs } from './refusals.ts'
import { openQuestions, type OpenQuestion, typedAnswer } from './typed-answer.ts'

type OnQuestion = (typeof ON_QUESTION)[number]
const write = writer('messages')
/** Goes along with every message and is written for few: made once. */
const REOPENED = resumed('message')
/** A paused session takes messages and runs them when resumed. */
export const TAKES_INPUT = ['active', 'paused', 'completed', 'failed'] as const

type Message = EventData<'user.message'>
export type AddMessage = {
  session_id: string
  content: string
  /** Null for a message that the server itself makes; those name their `synthetic` kind. */
  principal: Principal | null
  /** What the text is while a question waits; 'answer' where nobody says. */
  on_question?: OnQuestion | undefined
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
  { session_id, principal, on_question = 'answer', ...message }: AddMessage,
): Promise<AddedMessage> {
  const data = { ...message, ...principalStamp(principal) }
  const said = write('user.message', data)
  if (isStop(message.content)) {
    const stopped = await stopBy(deps, session_id, said)
    if (stopped) return named(stopped)
  }
  const commit = { session_id, events: [said], expect_status: TAKES_INPUT, reopen: REOPENED }
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
        const passed = write('user.message', { ...data, passes_over: open.map(one => one.tool_call_id) })
        return named(
          await deps.store.commit({ ...commit, events: [passed], rows: open.map(passOver(principal)) }),
        )
      }
      const answer =
        on_question === 'refuse' ? 'the message was not to be its answer' : typedAnswer(open, message)
      if (typeof answer === 'string') throw questionOpen(open, answer)
      const { request_key } = message
      return named(
        await answerQuestion(deps, {
          session_id,
          principal,
          ...answer,
          ...(request_key ? { request_key } : {}),
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

const isStop = (content: string): boolean => parseSlashCommand(content, () => false)?.command === 'stop'

/**
 * A `/stop` while a turn runs, is due or waits, or while children are open, aborts all that in the commit of
 * the message itself; null when there is nothing to stop.
 */
async function stopBy(deps: Deps, sessionId: string, said: EventDraft): Promise<Committed | null> {
  try {
    return await commitOverTree(deps, 'stop', sessionId, async around => {
      const { session, below } = around
      const runs =
        session.status === 'active' &&
        (session.lease !== null || session.waiting_on !== null || session.wake_id > session.cursor)
      const isOver = session.status === 'paused' || session.status === 'archived'
      return runs || (below.length > 0 && !isOver) ? stopCommit(deps, around, 'user', said) : null
    })
  } catch (thrown) {
    // The turn ended in between; the message is answered like any other.
    if (thrown instanceof AppError && thrown.code === 'wrong_state') return null
    throw thrown
  }
}

/**
 * Draft of a message that the server makes: a goal's kickoff, a decision of a human. It carries `synthetic`
 * and no principal.
 */
export function syntheticMessage(
  synthetic: string,
  content: string,
  about: Pick<
    Message,
    'outcome_id' | 'inbox_item_id' | 'tool_call_id' | 'metadata' | 'attachments' | 'images'
  > = {},
): EventDraft<'user.message'> {
  return write('user.message', { content, synthetic, ...about })
}

export type AnswerQuestion = {
  session_id: string
  tool_call_id: string
  responses: readonly { question: string; answer: string }[]
  principal: Principal
  /** Of a typed answer. */
  request_key?: string
}

/**
 * Answers an ask_user_question prompt: once. The answer becomes the result of that call and wakes the
 * suspended turn.
 */
export async function answerQuestion(
  { store }: Deps,
  { session_id, tool_call_id, responses, principal, request_key }: AnswerQuestion,
): Promise<Committed> {
  const asked = await findQuestion(store, principal.org_id, session_id, tool_call_id)
  if (!asked) throw new AppError('not_found', `There is no question ${tool_call_id} in this session.`)
  const answer: RowChange = {
    do: 'inbox.answer_call',
    tool_call_id,
    kind: 'input_required',
    decision: 'answered',
    decided_by: deciderOf(principal),
  }
  return commitFor(store, 'answer a question of', {
    session_id,
    expect_status: TAKES_INPUT,
    reopen: resumed('answer'),
    rows: [answer],
    events: [
      write('ask_user_question.response', {
        tool_call_id,
        responses: matchAnswers(asked.questions, responses),
        ...principalStamp(principal),
        ...(request_key ? { request_key } : {}),
      }),
    ],
  })
}

type Asked = EventData<'inbox.input_required'>

/** From the inbox, newest first: it holds the few questions of a log, and not the log. */
async function findQuestion(
  store: Deps['store'],
  org_id: string,
  session_id: string,
  callId: string,
): Promise<Asked | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listInbox({
      org_id,
      session_id,
      kind: ['input_required'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { payload } of page.items) {
      const asked = payload as Asked
      if (asked.tool_call_id === callId) return asked
    }
    cursor = page.next_cursor
  }
  return null
}

/** Each answer with `is_other`, which only the question's own choices can tell. */
function matchAnswers(
  questions: Asked['questions'],
  responses: AnswerQuestion['responses'],
): { question: string; answer: string; is_other: boolean }[] {
  const seen = new Set<string>()
  return responses.map(({ question, answer }, index) => {
    const asked = questions.find(q => q.prompt === question)
    if (!asked)
      throw invalid(
        index,
        'question',
        `was not asked; the questions are: ${questions.map(q => JSON.stringify(q.prompt)).join(', ')}`,
      )
    if (seen.has(question)) throw invalid(index, 'question', 'is answered twice')
    seen.add(question)
    const choices = asked.choices ?? []
    const is_other = choices.length > 0 && !choices.some(choice => choice.label === answer)
    if (is_other && asked.allow_other === false)
      throw invalid(
        index,
        'answer',
        `must be one of: ${choices.map(choice => JSON.stringify(choice.label)).join(', ')}`,
      )
    return { question, answer, is_other }
  })
}

const invalid = (index: number, key: string, message: string): AppError =>
  new AppError('invalid_body', `responses.${index}.${key} ${message}.`, {
    extra: { errors: [{ path: `responses.${index}.${key}`, message }] },
  })
