/**
 * What people say: messages and answers to questions (contract 4, 6). The pen of user.message and
 * ask_user_question.response.
 */
import { CommitRefused, type Committed, type RowChange, type StoredEvent } from '@cairn/log'
import {
  AppError,
  decodeEvent,
  type EventData,
  type EventDraft,
  type EventId,
  type EventOf,
  type Principal,
  writer,
} from '@cairn/protocol'
import { parseSlashCommand } from '@cairn/state'
import type { Deps } from './deps.ts'
import { resumed, stopped } from './lifecycle.ts'
import { principalStamp } from './principal-stamp.ts'
import { commitFor, refusedAs } from './refusals.ts'

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
} & Pick<Message, 'attachments' | 'images' | 'metadata' | 'source' | 'request_key'>

/** `message_id` is the event of the message itself, whatever stands before and after it in its commit. */
export type AddedMessage = Committed & { message_id: EventId }

/** A message of a person, a machine or a channel; it reopens a completed or failed session. */
export async function addMessage(
  deps: Deps,
  { session_id, principal, ...message }: AddMessage,
): Promise<AddedMessage> {
  const said = write('user.message', { ...message, ...principalStamp(principal) })
  if (isStop(message.content)) {
    const stopped = await stopBy(deps, session_id, said)
    if (stopped) return named(stopped)
  }
  return named(
    await commitFor(deps.store, 'add a message to', {
      session_id,
      events: [said],
      expect_status: TAKES_INPUT,
      reopen: REOPENED,
    }),
  )
}

function named(committed: Committed): AddedMessage {
  const message = committed.events.find(event => event.type === 'user.message')
  if (message === undefined) throw new Error('[addMessage] the store acknowledged a commit without its event')
  return { ...committed, message_id: message.id }
}

/** The id of the message that came with this key, if one ever landed. */
export async function findRequest(
  { store }: Pick<Deps, 'store'>,
  sessionId: string,
  requestKey: string,
): Promise<EventId | null> {
  for (let after: EventId | undefined = 0; after !== undefined;) {
    const page: StoredEvent[] = await store.read(sessionId, after, REQUESTS_AT_ONCE, ['user.message'])
    for (const { json } of page) {
      const event = decodeEvent(json)
      if (event.type === 'user.message' && event.data.request_key === requestKey) return event.id
    }
    after = page.length < REQUESTS_AT_ONCE ? undefined : page.at(-1)?.id
  }
  return null
}
const REQUESTS_AT_ONCE = 500

const isStop = (content: string): boolean => parseSlashCommand(content, () => false)?.command === 'stop'

/**
 * A `/stop` while a turn runs, is due or waits aborts it in the commit of the message itself; null when there
 * is nothing to stop.
 */
async function stopBy({ store }: Deps, session_id: string, said: EventDraft): Promise<Committed | null> {
  const session = await store.getSession(session_id)
  if (
    session?.status !== 'active' ||
    (session.lease === null && session.waiting_on === null && session.wake_id <= session.cursor)
  )
    return null
  try {
    return await store.commit({
      session_id,
      events: [said, stopped('user')],
      expect_status: ['active'],
      revoke_lease: true,
      cursor: 'self',
    })
  } catch (thrown) {
    // The turn ended in between; the message is answered like any other.
    if (thrown instanceof CommitRefused && thrown.refusal === 'wrong_status') return null
    throw thrown instanceof CommitRefused ? refusedAs('stop', session_id, thrown) : thrown
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
}

/**
 * Answers an ask_user_question prompt: once. The answer becomes the result of that call and wakes the
 * suspended turn.
 */
export async function answerQuestion(
  { store }: Deps,
  { session_id, tool_call_id, responses, principal }: AnswerQuestion,
): Promise<Committed> {
  const asked = await findQuestion(store, session_id, tool_call_id)
  if (!asked) throw new AppError('not_found', `There is no question ${tool_call_id} in this session.`)
  const answer: RowChange = {
    do: 'inbox.answer_call',
    tool_call_id,
    kind: 'input_required',
    decision: 'answered',
  }
  return commitFor(store, 'answer a question of', {
    session_id,
    expect_status: TAKES_INPUT,
    reopen: resumed('answer'),
    rows: [answer],
    events: [
      write('ask_user_question.response', {
        tool_call_id,
        responses: matchAnswers(asked.data.questions, responses),
        ...principalStamp(principal),
      }),
    ],
  })
}

type Asked = EventOf<'inbox.input_required'>

async function findQuestion(store: Deps['store'], sessionId: string, callId: string): Promise<Asked | null> {
  const page = 500
  for (let after = 0; ;) {
    const events = await store.read(sessionId, after, page, ['inbox.input_required'])
    for (const { json } of events) {
      const event = decodeEvent(json)
      if (event.type === 'inbox.input_required' && event.data.tool_call_id === callId) return event
    }
    const last = events.at(-1)
    if (!last || events.length < page) return null
    after = last.id
  }
}

/** Each answer with `is_other`, which only the question's own choices can tell. */
export function matchAnswers(
  questions: Asked['data']['questions'],
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
