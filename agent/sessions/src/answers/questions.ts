/** Answers to questions of the agent (contract 6). */
import type { Committed, RowChange } from '@cairn/log'
import { AppError, type EventData, type Principal } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { questionAnswered, TAKES_INPUT } from '../events/messages.ts'
import { deciderOf, principalStamp } from '../principal-stamp.ts'
import { commitFor } from '../refusals.ts'

export type AnswerQuestion = {
  session_id: string
  tool_call_id: string
  responses: readonly { question: string; answer: string }[]
  principal: Principal
  /** Recorded by the event, so that a repeated request finds it. */
  request_key?: string | undefined
  /** Rows changed in the same commit. */
  rows?: readonly RowChange[]
}

/**
 * Answers an ask_user_question prompt, once. The answer becomes the result of that call and wakes the
 * suspended turn.
 */
export async function answerQuestion(
  { store }: Deps,
  { session_id, tool_call_id, responses, principal, request_key, rows = [] }: AnswerQuestion,
): Promise<Committed> {
  const asked = await findQuestion(store, principal.org_id, session_id, tool_call_id)
  if (!asked) throw new AppError('not_found', `Question ${tool_call_id} not found in this session.`)
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
    reopen: sessionResumed('answer'),
    rows: [...rows, answer],
    events: [
      questionAnswered({
        tool_call_id,
        responses: matchAnswers(asked.questions, responses),
        ...principalStamp(principal),
        ...(request_key ? { request_key } : {}),
      }),
    ],
  })
}

type Asked = EventData<'inbox.input_required'>

/**
 * Searches the inbox, newest first: it holds the few questions of a session, which is cheaper than reading
 * its log.
 */
async function findQuestion(
  store: Deps['store'],
  org_id: string,
  session_id: string,
  callId: string,
): Promise<Asked | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.inbox.list({
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

/** Each answer with `is_other`, which only the question's own choices determine. */
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
        `is not one of the questions: ${questions.map(q => JSON.stringify(q.prompt)).join(', ')}`,
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
