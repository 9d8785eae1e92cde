/** Slack threads: the messages above a mention, the button that stops a turn, and ephemeral replies. */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { createQuestionItem } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { quoteThread } from '../../src/slack/thread.ts'
import { call, logOf, makeBench, sessionsOf } from '../bench.ts'
import { response } from '../worker.ts'
import {
  BOT,
  BOT_TOKEN,
  type Kept,
  type Person,
  pressed,
  signedBySlack,
  SIGNING_SECRET,
  startFakeSlack,
} from './fake-slack.ts'

const SOON = { timeout: 15_000 }
const turn = writer('turn')

async function startSlack() {
  const slack = await startFakeSlack()
  onTestFinished(slack.close)
  const only = {
    support: {
      platform: 'slack',
      mode: 'events',
      bot_token_env: 'B',
      signing_secret_env: 'S',
      api_url: slack.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
  } as const
  const env = { B: BOT_TOKEN, S: SIGNING_SECRET }
  const bench = await makeBench('sqlite', {}, {}, { only, env, echo: false })
  const channels = await bench.start()
  const give = async (payload: Record<string, unknown>): Promise<void> =>
    void (await call(channels, signedBySlack(payload)))
  const ours = async (channel: string, thread?: string): Promise<Kept[]> =>
    (await slack.messages(channel, thread)).filter(({ user }) => user === BOT)
  const tsOf = (said: Record<string, unknown>): string => (said['event'] as { ts: string }).ts
  const press = async (who: Person, channel: string, message: Kept, label: string): Promise<void> =>
    give(pressed(slack.ids[who], channel, message, label))
  return { slack, bench, give, ours, tsOf, press }
}
const buttonsOf = ({ blocks = [] }: Kept): string[] =>
  blocks.flatMap(({ elements = [] }) => elements.map(({ text }) => text.text))

test('a mention inside a thread includes the messages above it, once', async () => {
  const { slack, bench, give, tsOf } = await startSlack()
  const root = tsOf(await slack.say('bob', slack.talk, 'the printer &lt;3&gt; is broken'))
  await slack.say('ann', slack.talk, 'it says E42', root)
  const asked = await slack.say('ann', slack.talk, `<@${BOT}> what is E42?`, root)
  await slack.say('bob', slack.talk, 'said after the mention', root)
  await give(asked)
  const logged = async (): Promise<unknown[]> => {
    const [session] = await sessionsOf(bench.store)
    const log = session === undefined ? [] : await logOf(bench.store, session.id)
    return log.flatMap(({ type, data }) => (type === 'user.message' ? [data] : []))
  }
  const { ann, bob } = slack.ids
  await expect.poll(logged, SOON).toMatchObject([
    {
      content: 'what is E42?',
      metadata: { thread_context: `[${bob}] the printer <3> is broken\n[${ann}] it says E42` },
    },
  ])
  await give(await slack.say('bob', slack.talk, `<@${BOT}> and now?`, root))
  await expect.poll(logged, SOON).toHaveLength(2)
  expect((await logged())[1]).not.toHaveProperty('metadata')
  // A mention that starts a thread has no messages above it.
  await give(await slack.say('bob', slack.talk, `<@${BOT}> something else`))
  await expect.poll(async () => (await sessionsOf(bench.store)).length, SOON).toBe(2)
  expect(slack.calls.filter(({ method }) => method === 'conversations.replies')).toHaveLength(1)
})

test.each([
  ['permanently refuses', [{ error: 'missing_scope' }], false],
  ['temporarily fails', [{ status: 503 }], true],
] as const)('a mention is accepted if Slack %s to read the thread', async (_how, faults, isRead) => {
  const { slack, bench, give, tsOf } = await startSlack()
  const root = tsOf(await slack.say('bob', slack.talk, 'above'))
  slack.fail('conversations.replies', ...faults)
  await give(await slack.say('ann', slack.talk, `<@${BOT}> hello`, root))
  await expect.poll(async () => (await sessionsOf(bench.store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(bench.store)
  await expect.poll(async () => (await logOf(bench.store, session!.id)).length, SOON).toBe(1)
  const [said] = await logOf(bench.store, session!.id)
  expect('metadata' in said!.data).toBe(isRead)
})

test('a long thread is quoted with its first and newest 20 messages, at most 8 KB', () => {
  const said = Array.from({ length: 50 }, (_, at) => ({ ts: `${at}`, user: 'U1', text: `m${at}` }))
  const lines = quoteThread(said)?.split('\n') ?? []
  expect([lines.length, lines[0], lines[1], lines.at(-1)]).toEqual([21, '[U1] m0', '[U1] m30', '[U1] m49'])
  const long = quoteThread(said.map(one => ({ ...one, text: `${one.text} ${'é'.repeat(1_000)}` }))) ?? ''
  expect(Buffer.byteLength(long)).toBeLessThanOrEqual(8192)
  expect(long.split('\n').map(line => line.slice(0, 8))).toEqual([
    '[U1] m0 ',
    '[U1] m47',
    '[U1] m48',
    '[U1] m49',
  ])
  const huge = quoteThread([{ ts: '1', user: 'U1', text: 'é'.repeat(9_000) }]) ?? ''
  expect(Buffer.byteLength(huge)).toBeLessThanOrEqual(8192)
  expect(huge).toMatch(/^\[U1\] é+$/)
  expect(quoteThread([])).toBeNull()
})

test('a progress message has a button that stops the turn, and loses it at the end of the turn', async () => {
  const { slack, bench, give, ours, tsOf, press } = await startSlack()
  const { store } = bench
  const asked = await slack.say('ann', slack.talk, `<@${BOT}> tell me`)
  const thread = tsOf(asked)
  await give(asked)
  await expect.poll(async () => (await sessionsOf(store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(store)
  const [claim] = await store.leases.claim('w', 10, 60_000)
  expect(claim?.session.id).toBe(session!.id)
  const data = { turn_id: 't', iteration_index: 0, content: 'Once upon a time there was a cairn' }
  await store.commit({ session_id: session!.id, events: [turn('llm.delta', data)] })
  await expect.poll(async () => (await ours(slack.talk, thread)).map(buttonsOf), SOON).toEqual([['Stop']])
  const [shown] = await ours(slack.talk, thread)
  await press('bob', slack.talk, shown!, 'Stop')
  await expect
    .poll(async () => (await logOf(store, session!.id)).map(({ type }) => type), SOON)
    .toEqual(['user.message', 'llm.delta', 'user.message', 'session.stopped'])
  const log = await logOf(store, session!.id)
  expect(log[2]?.data).toMatchObject({
    content: '/stop',
    source: { user_id: slack.ids.bob, thread_id: thread },
  })
  await expect.poll(async () => (await ours(slack.talk, thread)).map(buttonsOf), SOON).toEqual([[], []])
  expect((await ours(slack.talk, thread))[0]?.text).toContain('Once upon a time')
})

test('the answer replaces the progress message and has no stop button', async () => {
  const { slack, bench, give, ours } = await startSlack()
  const { store } = bench
  const dm = await slack.dm('ann')
  await give(await slack.say('ann', dm, 'tell me'))
  await expect.poll(async () => (await sessionsOf(store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(store)
  const data = { turn_id: 't', iteration_index: 0, content: 'Once upon a time there was a cairn' }
  await store.commit({ session_id: session!.id, events: [turn('llm.delta', data)] })
  await expect.poll(async () => (await ours(dm)).map(buttonsOf), SOON).toEqual([['Stop']])
  await store.commit({ session_id: session!.id, events: [response('The end.')] })
  await expect.poll(async () => (await ours(dm)).map(buttonsOf), SOON).toEqual([[]])
  expect((await ours(dm)).map(({ text }) => text)).toEqual(['The end.'])
})

test('the reply to a button action is visible only to the person who clicked', async () => {
  const { slack, bench, give, ours, tsOf, press } = await startSlack()
  const { store } = bench
  const asked = await slack.say('ann', slack.talk, `<@${BOT}> hello`)
  await give(asked)
  await expect.poll(async () => (await sessionsOf(store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(store)
  const questions = [{ prompt: 'Which?', choices: [{ label: 'Red' }, { label: 'Blue' }] }]
  const question = createQuestionItem({ newId: randomUUID }, { tool_call_id: 'c', questions })
  await store.commit({ session_id: session!.id, events: [question.event] })
  const seen = async (): Promise<Kept[]> => ours(slack.talk, tsOf(asked))
  await expect.poll(async () => (await seen()).length, SOON).toBe(1)
  const [shown] = await seen()
  await press('ann', slack.talk, shown!, 'Red')
  await press('bob', slack.talk, shown!, 'Blue')
  const whispers = (): unknown[] =>
    slack.calls.flatMap(({ method, body }) => (method === 'chat.postEphemeral' ? [body] : []))
  await expect
    .poll(whispers, SOON)
    .toMatchObject([{ user: slack.ids.bob, text: 'That question is no longer open.' }])
  expect(await seen()).toHaveLength(1)
})
