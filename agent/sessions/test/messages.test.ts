import {
  addMessage,
  answerQuestion,
  archiveSession,
  completed,
  failed,
  pauseSession,
  raiseQuestion,
} from '@cairn/sessions'
import { expect, test } from 'vitest'
import { alice, type Desk, robot, setUp, types } from './desk.ts'

const hello = (desk: Desk) =>
  addMessage(desk.deps, { session_id: desk.session.id, content: 'hello', principal: alice })

test('a message carries who sent it, and asks for work', async () => {
  await using desk = await setUp()
  const { last_id, session } = await hello(desk)
  expect((await desk.last())?.data).toEqual({ content: 'hello', principal_user_id: 'alice' })
  expect(session).toMatchObject({ status: 'active', wake_id: last_id, cursor: 0, message_count: 1 })
  await addMessage(desk.deps, { session_id: desk.session.id, content: 'beep', principal: robot })
  expect((await desk.last())?.data).toEqual({ content: 'beep', principal_service_account_id: 'robot' })
})

test.each([
  ['completed', completed('completed', 'w')],
  ['failed', failed({ reason: 'r', error_category: 'internal', error: 'e', retryable: true })],
])('a message to a %s session resumes it first', async (_, end) => {
  await using desk = await setUp()
  await desk.write([end])
  await hello(desk)
  expect(types(await desk.events()).slice(1)).toEqual(['session.resume', 'user.message'])
  expect((await desk.row()).status).toBe('active')
})

test('a paused session takes a message and stays paused', async () => {
  await using desk = await setUp()
  await pauseSession(desk.deps, desk.session.id)
  await hello(desk)
  expect(types(await desk.events())).toEqual(['session.pause', 'user.message'])
  expect((await desk.row()).status).toBe('paused')
})

test('an archived session takes none, and an unknown one is not found', async () => {
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
  const raised = raiseQuestion(desk.deps, {
    tool_call_id: 'call-1',
    questions: [
      { prompt: 'Colour?', choices: [{ label: 'red' }, { label: 'blue' }], allow_other: true },
      { prompt: 'Size?', choices: [{ label: 'S' }], allow_other: false },
      { prompt: 'Why?' },
    ],
  })
  await desk.write([raised.event], { rows: [raised.row(0)] })
}
const answer = (desk: Desk, ...responses: { question: string; answer: string }[]) =>
  answerQuestion(desk.deps, {
    session_id: desk.session.id,
    tool_call_id: 'call-1',
    responses,
    principal: alice,
  })

test('whether an answer is one of the choices is decided here, not by the caller', async () => {
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

test('a question is answered once: the second answer is refused and writes nothing', async () => {
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

test('bad answers name what is wrong', async () => {
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
