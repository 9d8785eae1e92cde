import {
  type AddMessage,
  addMessage,
  answerQuestion,
  archiveSession,
  sessionCompleted,
  sessionFailed,
  findRequest,
  pauseSession,
  createQuestionItem,
} from '@cairn/sessions'
import { describe, expect, test } from 'vitest'
import { alice, type Desk, robot, setUp, types } from './desk.ts'

const hello = (desk: Desk) =>
  addMessage(desk.deps, { session_id: desk.session.id, content: 'hello', principal: alice })

test('a message records its sender and requests work', async () => {
  await using desk = await setUp()
  const { last_id } = await hello(desk)
  expect((await desk.last())?.data).toEqual({ content: 'hello', principal_user_id: 'alice' })
  expect(await desk.row()).toMatchObject({ status: 'active', wake_id: last_id, cursor: 0, message_count: 1 })
  await addMessage(desk.deps, { session_id: desk.session.id, content: 'beep', principal: robot })
  expect((await desk.last())?.data).toEqual({ content: 'beep', principal_service_account_id: 'robot' })
})

test.each([
  ['completed', sessionCompleted('completed', 'w')],
  ['failed', sessionFailed({ reason: 'r', error_category: 'internal', error: 'e', retryable: true })],
])('a message to a %s session resumes it first', async (_, end) => {
  await using desk = await setUp()
  await desk.write([end])
  await hello(desk)
  expect(types(await desk.events()).slice(1)).toEqual(['session.resume', 'user.message'])
  expect((await desk.row()).status).toBe('active')
})

test('a paused session accepts a message and stays paused', async () => {
  await using desk = await setUp()
  await pauseSession(desk.deps, desk.session.id)
  await hello(desk)
  expect(types(await desk.events())).toEqual(['session.pause', 'user.message'])
  expect((await desk.row()).status).toBe('paused')
})

test('an archived session rejects a message, and an unknown one is not found', async () => {
  await using desk = await setUp()
  await archiveSession(desk.deps, desk.session)
  await expect(hello(desk)).rejects.toMatchObject({
    code: 'wrong_state',
    extra: { session_status: 'archived' },
  })
  await expect(
    addMessage(desk.deps, { session_id: 'nope', content: 'x', principal: alice }),
  ).rejects.toMatchObject({ code: 'not_found' })
})

async function ask(desk: Desk): Promise<void> {
  const created = createQuestionItem(desk.deps, {
    tool_call_id: 'call-1',
    questions: [
      { prompt: 'Colour?', choices: [{ label: 'red' }, { label: 'blue' }], allow_other: true },
      { prompt: 'Size?', choices: [{ label: 'S' }], allow_other: false },
      { prompt: 'Why?' },
    ],
  })
  await desk.write([created.event])
}
const answer = (desk: Desk, ...responses: { question: string; answer: string }[]) =>
  answerQuestion(desk.deps, {
    session_id: desk.session.id,
    tool_call_id: 'call-1',
    responses,
    principal: alice,
  })

test('the server decides whether an answer is one of the choices', async () => {
  await using desk = await setUp()
  await ask(desk)
  expect(await desk.row()).toMatchObject({ waiting_on: 'question' })
  await answer(
    desk,
    { question: 'Colour?', answer: 'green' },
    { question: 'Size?', answer: 'S' },
    { question: 'Why?', answer: 'because' },
  )
  expect((await desk.last())?.data).toMatchObject({
    tool_call_id: 'call-1',
    principal_user_id: 'alice',
    responses: [
      { question: 'Colour?', answer: 'green', is_other: true },
      { question: 'Size?', answer: 'S', is_other: false },
      { question: 'Why?', answer: 'because', is_other: false },
    ],
  })
  expect(await desk.row()).toMatchObject({ waiting_on: null })
})

test('a question is answered once: the second answer is rejected and writes nothing', async () => {
  await using desk = await setUp()
  await ask(desk)
  const both = await Promise.allSettled([
    answer(desk, { question: 'Why?', answer: 'one' }),
    answer(desk, { question: 'Why?', answer: 'two' }),
  ])
  expect(both.map(outcome => outcome.status)).toEqual(['fulfilled', 'rejected'])
  await expect(answer(desk, { question: 'Why?', answer: 'three' })).rejects.toMatchObject({
    code: 'already_answered',
    extra: { decision: 'answered' },
  })
  expect(types(await desk.events()).filter(type => type === 'ask_user_question.response')).toHaveLength(1)
})

test('an invalid answer is rejected with the reason', async () => {
  await using desk = await setUp()
  await ask(desk)
  await expect(answer(desk, { question: 'Taste?', answer: 'x' })).rejects.toMatchObject({
    code: 'invalid_body',
    message: expect.stringContaining('"Colour?", "Size?", "Why?"'),
  })
  await expect(answer(desk, { question: 'Size?', answer: 'XXL' })).rejects.toMatchObject({
    code: 'invalid_body',
    message: expect.stringContaining('must be one of: "S"'),
  })
  await expect(
    answer(desk, { question: 'Why?', answer: 'a' }, { question: 'Why?', answer: 'b' }),
  ).rejects.toMatchObject({ code: 'invalid_body' })
  await expect(
    answerQuestion(desk.deps, {
      session_id: desk.session.id,
      tool_call_id: 'nope',
      responses: [],
      principal: alice,
    }),
  ).rejects.toMatchObject({ code: 'not_found' })
})

describe('text typed while a question is open', () => {
  const asks = async (desk: Desk, call: string, ...questions: object[]) => {
    const created = createQuestionItem(desk.deps, { tool_call_id: call, questions: questions as [] })
    await desk.write([created.event])
  }
  const type = (desk: Desk, content: string, more: Partial<AddMessage> = {}) =>
    addMessage(desk.deps, { session_id: desk.session.id, content, principal: alice, ...more })
  const colour = { prompt: 'Colour?', choices: [{ label: 'red' }, { label: 'blue' }] }
  const items = async (desk: Desk) =>
    (await desk.store.inbox.list({ org_id: alice.org_id, limit: 10 })).items.map(item => [
      item.status,
      item.decision,
      item.decided_by_user_id,
    ])

  test('answers it: as a choice in any case, else as free text, for every prompt of the call', async () => {
    await using desk = await setUp()
    await asks(desk, 'call-1', colour, { prompt: 'Why?' })
    await type(desk, ' Blue ', { request_key: 'k' })
    expect(await desk.last()).toMatchObject({
      type: 'ask_user_question.response',
      data: {
        tool_call_id: 'call-1',
        principal_user_id: 'alice',
        responses: [
          { question: 'Colour?', answer: 'blue', is_other: false },
          { question: 'Why?', answer: 'Blue', is_other: false },
        ],
      },
    })
    expect(await items(desk)).toEqual([['responded', 'answered', 'alice']])
    expect(await findRequest(desk.deps, desk.session.id, 'k')).toMatchObject({
      type: 'ask_user_question.response',
    })
    await type(desk, 'and now this')
    expect((await desk.last())?.type).toBe('user.message')
  })

  test('skips the question on request: the item expires with one message', async () => {
    await using desk = await setUp()
    await asks(desk, 'call-1', colour)
    await type(desk, 'something else', { on_question: 'pass_over' })
    expect(await desk.last()).toMatchObject({
      type: 'user.message',
      data: { content: 'something else', passes_over: ['call-1'] },
    })
    expect(await items(desk)).toEqual([['expired', 'passed_over', 'alice']])
    expect(await desk.row()).toMatchObject({ waiting_on: null, state: 'running' })
  })

  /** Promise 6.8: Text that cannot answer the open question is rejected and writes nothing. */
  test('is rejected and writes nothing if it cannot be the answer', async () => {
    await using desk = await setUp()
    await asks(desk, 'call-1', { ...colour, allow_other: false })
    const before = (await desk.events()).length
    const refusals: [Promise<unknown>, string][] = [
      [type(desk, 'green'), 'must be one of: "red", "blue"'],
      [type(desk, 'red', { on_question: 'refuse' }), 'on_question is "pass_over"'],
      [type(desk, 'red', { images: [] }), 'plain text'],
    ]
    for (const [sent, why] of refusals)
      await expect(sent).rejects.toMatchObject({
        code: 'question_open',
        message: expect.stringContaining(why),
      })
    await asks(desk, 'call-2', { prompt: 'Why?' })
    await expect(type(desk, 'red')).rejects.toMatchObject({
      code: 'question_open',
      message: expect.stringContaining('2 questions are pending'),
    })
    expect(await desk.events()).toHaveLength(before + 1)
    expect(await items(desk)).toEqual([
      ['pending', null, undefined],
      ['pending', null, undefined],
    ])
  })

  test('does not answer it if it is a server command', async () => {
    await using desk = await setUp()
    await asks(desk, 'call-1', colour)
    await type(desk, '/help')
    expect(await desk.last()).toMatchObject({ type: 'user.message', data: { content: '/help' } })
    expect(await items(desk)).toEqual([['pending', null, undefined]])
  })
})
