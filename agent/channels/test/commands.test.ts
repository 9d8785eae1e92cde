/** Commands, questions and approvals over a channel. */
import { randomUUID } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import { createLinkCode, createGateItem, createQuestionItem } from '@cairn/sessions'
import { expect, test } from 'vitest'
import { type Bench, logOf, makeBench, ORG, say, sessionsOf } from './bench.ts'
import { response } from './worker.ts'

const newest = async (store: LogStore) => (await sessionsOf(store))[0]!
const typesOf = async (store: LogStore, id: string) => (await logOf(store, id)).map(({ type }) => type)

async function link({ store, users, callback }: Bench, channels: Parameters<typeof say>[0]): Promise<void> {
  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.ann })
  await say(channels, { text: `/link ${code}` })
  await expect.poll(() => callback.seen()).toHaveLength(1)
}
/** Adds the question after the message, which is recorded after its session exists. */
async function ask({ store }: Bench, id: string): Promise<void> {
  await expect.poll(() => typesOf(store, id)).toContain('user.message')
  const { event } = createQuestionItem(
    { newId: randomUUID },
    {
      tool_call_id: 'call_1',
      questions: [{ prompt: 'Which?', choices: [{ label: 'Red' }, { label: 'Blue' }], allow_other: false }],
    },
  )
  await store.commit({ session_id: id, events: [event] })
}

/** Promise 14.13: `/stop` in a channel leaves the session active. */
test('/stop aborts the running turn, and the session stays active', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, {}, { echo: false })
  const channels = await start()
  await say(channels, { text: '/stop' })
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['No turn is running.'])
  await say(channels, { text: 'work' })
  await expect.poll(() => store.leases.claim('w', 1, 60_000)).toHaveLength(1)
  await say(channels, { text: ' /Cancel ' })
  await expect.poll(() => callback.taken.map(({ text }) => text)).toEqual(['No turn is running.', 'Stopped.'])
  const session = await newest(store)
  expect(session).toMatchObject({ status: 'active', lease: null })
  const log = await logOf(store, session.id)
  expect(log.map(({ type }) => type)).toEqual(['user.message', 'user.message', 'session.stopped'])
  expect(log.at(-1)?.data).toMatchObject({ reason: 'channel_stop' })
})

test('/new starts a session, and the pending answer of the previous session is still delivered', async () => {
  const { store, callback, start } = await makeBench('sqlite', {}, {}, { echo: false })
  const channels = await start()
  await say(channels, { text: 'one' })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const before = await newest(store)
  await say(channels, { text: '/new' })
  await say(channels, { text: 'two' })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(2)
  await store.commit({ session_id: before.id, events: [response('late')] })
  await expect
    .poll(() => callback.taken.map(({ text }) => text))
    .toEqual(['New conversation started.', 'late'])
  await say(channels, { text: '/status' })
  await expect.poll(() => callback.taken.at(-1)?.text).toBe('I am working on it.')
})

test('a button or its label answers a question, and other text skips the question', async () => {
  const bench = await makeBench('sqlite', {}, {}, { echo: false })
  const { store, callback, start } = bench
  const channels = await start()
  for (const [conversation, said] of [
    ['C1', 'press'],
    ['C2', 'blue'],
    ['C3', 'neither'],
  ] as const) {
    await say(channels, { text: 'go', conversation })
    await expect.poll(async () => (await sessionsOf(store)).length).toBe(Number(conversation.slice(1)))
    const { id } = await newest(store)
    await ask(bench, id)
    await expect.poll(() => callback.taken.at(-1)?.conversation_id).toBe(conversation)
    const question = callback.taken.at(-1)
    expect(question).toMatchObject({ type: 'question', text: 'Which?\n1. Red\n2. Blue' })
    const press = question?.prompt?.choices[1]?.value ?? ''
    // In another conversation the button is not valid.
    await say(channels, { press, conversation: 'C9' })
    await expect.poll(() => callback.taken.at(-1)?.text).toBe('That question is no longer open.')
    await say(channels, said === 'press' ? { press, conversation } : { text: said, conversation })
    const last = async () => (await logOf(store, id)).at(-1)
    await expect
      .poll(async () => (await last())?.type)
      .toBe(said === 'neither' ? 'user.message' : 'ask_user_question.response')
    if (said !== 'neither')
      expect((await last())?.data).toMatchObject({ responses: [{ question: 'Which?', answer: 'Blue' }] })
    // A second button action changes nothing.
    await say(channels, { press, conversation })
    await expect.poll(() => callback.taken.at(-1)?.conversation_id).toBe(conversation)
    expect((await last())?.id).toBe((await typesOf(store, id)).length)
  }
})

/** Promise 15.6: A button action answers only in sessions where its sender may write. */
test('a button action answers a question only if the sender may write in that session', async () => {
  const bench = await makeBench('sqlite', {}, {}, { echo: false })
  const { store, callback, start } = bench
  const channels = await start()
  await link(bench, channels)
  await say(channels, { text: 'go' })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const { id } = await newest(store)
  await ask(bench, id)
  await expect.poll(() => callback.taken.at(-1)?.type).toBe('question')
  const press = callback.taken.at(-1)!.prompt!.choices[1]!.value
  await say(channels, { press, user: 'U2' })
  await expect.poll(() => callback.taken.at(-1)?.text).toBe('You are not allowed to decide this.')
  expect((await typesOf(store, id)).at(-1)).toBe('inbox.input_required')
  await say(channels, { press })
  await expect.poll(async () => (await typesOf(store, id)).at(-1)).toBe('ask_user_question.response')
})

/** Promise 15.6: An approval over a channel is decided once, by an authorised person. */
test('an approval is decided once, and only by a sender who may decide it', async () => {
  const bench = await makeBench('sqlite', {}, {}, { echo: false })
  const { store, callback, start } = bench
  const channels = await start()
  await link(bench, channels)
  await say(channels, { text: 'run it' })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const { id } = await newest(store)
  const { event } = createGateItem(
    { newId: randomUUID },
    {
      tool_name: 'terminal',
      tool_call_id: 'call_1',
      arguments: { command: 'ls' },
      arguments_excerpt: '{"command":"ls"}',
      deny_reason: 'needs approval',
      policy_id: 'p',
      arguments_hash: 'hash',
    },
  )
  await store.commit({ session_id: id, events: [event] })
  await expect.poll(() => callback.taken.at(-1)?.type).toBe('approval')
  const [approve] = callback.taken.at(-1)?.prompt?.choices ?? []
  expect(approve?.label).toBe('Approve')
  // Another person in the same conversation.
  await say(channels, { press: approve!.value, user: 'U9' })
  await expect.poll(() => callback.taken.at(-1)?.text).toBe('You are not allowed to decide this.')
  await say(channels, { press: approve!.value })
  await expect.poll(() => store.grants.find(id, 'terminal', 'hash')).not.toBeNull()
  expect((await logOf(store, id)).at(-1)?.data).toMatchObject({
    synthetic: 'governance_decision',
    metadata: { decision: 'approve' },
  })
  await say(channels, { press: approve!.value })
  await expect.poll(() => callback.taken.at(-1)?.text).toBe('Approved by ann.')
})
