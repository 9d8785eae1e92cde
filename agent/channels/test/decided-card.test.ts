/** The approval card after the decision, on every platform that can edit messages. */
import { randomUUID } from 'node:crypto'
import type { LogStore } from '@cairn/log'
import { type ConfigInput, writer } from '@cairn/protocol'
import { createLinkCode, createGateItem, respondInbox } from '@cairn/sessions'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, call, logOf, makeBench, ORG, sessionsOf } from './bench.ts'
import { startFakeDiscord, TOKEN as DISCORD_TOKEN } from './discord/fake-discord.ts'
import {
  BOT,
  BOT_TOKEN,
  type Kept,
  pressed,
  signedBySlack,
  SIGNING_SECRET,
  startFakeSlack,
} from './slack/fake-slack.ts'
import { startFakeTelegram, TOKEN as TELEGRAM_TOKEN } from './telegram/fake-telegram.ts'

const SOON = { timeout: 15_000 }
type Channels = NonNullable<ConfigInput['channels']>
type Talk = {
  bench: Bench
  say(text: string): Promise<void>
  press(label: string): Promise<void>
  shown(): Promise<string[]>
  /** Replies to a button action that only its sender sees. */
  told(): Promise<string[]>
  /** Buttons of the last edit of a message. */
  buttonsLeft(): Promise<unknown[]>
}
const open = { access: 'open', agent: 'greeter' } as const
const make = (settings: Channels[string], env: Record<string, string>): Promise<Bench> =>
  makeBench('sqlite', {}, {}, { echo: false, env, only: { it: settings } })

const TALKS: Record<string, () => Promise<Talk>> = {
  async telegram() {
    const telegram = await startFakeTelegram()
    onTestFinished(telegram.close)
    const settings = { platform: 'telegram', token_env: 'T', api_root: telegram.url, ...open } as const
    const bench = await make(settings, { T: TELEGRAM_TOKEN })
    await bench.start()
    return {
      bench,
      say: async text => void telegram.say(text),
      press: async label => void telegram.press(label),
      shown: async () => telegram.messages.map(({ text }) => text),
      told: async () => telegram.alerts,
      buttonsLeft: async () => {
        const last = telegram.calls.findLast(({ method }) => method === 'editMessageText')
        return [last?.fields['reply_markup']].filter(Boolean)
      },
    }
  },
  async discord() {
    const discord = await startFakeDiscord()
    onTestFinished(discord.close)
    const settings = { platform: 'discord', token_env: 'D', api_url: discord.url, ...open } as const
    const bench = await make(settings, { D: DISCORD_TOKEN })
    await bench.start()
    await expect.poll(() => discord.sockets(), SOON).toBe(1)
    return {
      bench,
      say: async text => void discord.say(text),
      press: async label => discord.press(label),
      shown: async () => discord.messages.map(({ content }) => content),
      told: async () => discord.whispers,
      buttonsLeft: async () => {
        const last = discord.calls.findLast(({ method }) => method === 'PATCH')
        return (last?.body['components'] ?? []) as unknown[]
      },
    }
  },
  async slack() {
    const slack = await startFakeSlack()
    onTestFinished(slack.close)
    const settings = {
      platform: 'slack',
      mode: 'events',
      bot_token_env: 'B',
      signing_secret_env: 'S',
      api_url: slack.apiUrl,
      ...open,
    } as const
    const bench = await make(settings, { B: BOT_TOKEN, S: SIGNING_SECRET })
    const channels = await bench.start()
    const dm = await slack.dm('ann')
    const ours = async (): Promise<Kept[]> => (await slack.messages(dm)).filter(({ user }) => user === BOT)
    let card: Kept | undefined
    return {
      bench,
      say: async text => void (await call(channels, signedBySlack(await slack.say('ann', dm, ` ${text}`)))),
      async press(label) {
        card ??= (await ours()).findLast(({ blocks }) => JSON.stringify(blocks ?? '').includes(label))
        await call(channels, signedBySlack(pressed(slack.ids.ann, dm, card!, label)))
      },
      shown: async () =>
        (await ours()).map(({ blocks = [], text }) => blocks.map(block => block.text).join('') || text),
      told: async () =>
        slack.calls
          .filter(({ method, body }) => method === 'chat.postEphemeral' && body['user'] === slack.ids.ann)
          .map(({ body }) => String(body['text'])),
      buttonsLeft: async () =>
        (await ours()).flatMap(({ blocks = [] }) => blocks.filter(({ type }) => type === 'actions')),
    }
  },
}

/** Creates a session of Ann in which a terminal call waits for a decision and its card is shown. */
async function raise({ bench, say, shown }: Talk): Promise<string> {
  const { store, users } = bench
  const { code } = await createLinkCode({ store, now: Date.now }, { org_id: ORG, id: users.ann })
  await say(`/link ${code}`)
  await expect.poll(async () => (await shown()).join(), SOON).toContain('linked to ann')
  await say('run it')
  await expect.poll(async () => (await sessionsOf(store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(store)
  await expect.poll(async () => (await logOf(store, session!.id)).length, SOON).toBeGreaterThan(0)
  await gate(store, session!.id, 'call_1')
  await expect.poll(async () => (await shown()).at(-1), SOON).toContain('Approval needed: terminal')
  return session!.id
}
const gate = (store: LogStore, session_id: string, tool_call_id: string): Promise<unknown> =>
  store.commit({
    session_id,
    events: [
      createGateItem(
        { newId: randomUUID },
        {
          tool_name: 'terminal',
          tool_call_id,
          arguments: { command: 'ls' },
          arguments_excerpt: '{"command":"ls"}',
          deny_reason: 'needs approval',
          policy_id: 'p',
          arguments_hash: 'h',
        },
      ).event,
    ],
  })

/** Promise 15.4, 15.6: An approval card shows who decided, also after a second button action. */
test.each(Object.keys(TALKS))(
  'on %s the card shows who approved, loses its buttons, and answers a second click with the first decision',
  { timeout: 60_000 },
  async platform => {
    const talk = await TALKS[platform]!()
    const { press, shown, told, buttonsLeft } = talk
    await raise(talk)
    const before = (await shown()).length
    await press('Approve')
    await expect
      .poll(async () => (await shown()).at(-1), SOON)
      .toMatch(/terminal[^]*"command": "ls"[^]*\n\nApproved by ann\.$/)
    expect(await buttonsLeft()).toEqual([])
    await press('Reject')
    await expect.poll(told, SOON).toEqual(['Approved by ann.'])
    expect(await shown()).toHaveLength(before)
  },
)

test.each(Object.keys(TALKS))(
  'on %s the card shows a rejection that another user made in the web UI',
  { timeout: 60_000 },
  async platform => {
    const talk = await TALKS[platform]!()
    const { store, users } = talk.bench
    const session_id = await raise(talk)
    const { items } = await store.inbox.list({ org_id: ORG, status: ['pending'], limit: 9 })
    const root = (await store.accounts.getUser(users.root))!
    const deps = { store, now: Date.now, newId: randomUUID }
    await respondInbox(deps, items[0]!.id, { decision: 'reject' }, { kind: 'user', ...root })
    await expect.poll(async () => (await talk.shown()).at(-1), SOON).toContain('\n\nRejected by Root.')
    // The message that reports the decision to the model is not shown.
    expect((await talk.shown()).join()).not.toContain('[Decision]')
    const last = (await logOf(store, session_id)).at(-1)
    expect(last).toMatchObject({ type: 'user.message', data: { synthetic: 'governance_decision' } })
  },
)

test('a deleted card is not sent again, and later messages are delivered', async () => {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const settings = { platform: 'telegram', token_env: 'T', api_root: telegram.url, ...open } as const
  const bench = await make(settings, { T: TELEGRAM_TOKEN })
  await bench.start()
  const shown = async (): Promise<string[]> => telegram.messages.map(({ text }) => text)
  const session_id = await raise({ bench, say: async text => void telegram.say(text), shown } as Talk)
  const gone = { error_code: 400, description: 'Bad Request: message to edit not found' }
  telegram.fail('editMessageText', gone)
  telegram.press('Approve')
  await expect
    .poll(async () => telegram.calls.some(({ method }) => method === 'editMessageText'), SOON)
    .toBe(true)
  const stopped = writer('lifecycle')('session.stopped', { reason: 'user' })
  await bench.store.commit({ session_id, events: [stopped] })
  await expect.poll(async () => (await shown()).at(-1), SOON).toBe('Stopped.')
  expect(telegram.messages.filter(({ text }) => text.includes('Approval needed'))).toHaveLength(1)
  const [connection] = await bench.store.channels.listConnections(ORG)
  expect(await bench.store.channels.listDeliveries(connection!.id, 'dead', 9)).toEqual([])
})
