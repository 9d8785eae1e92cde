/**
 * Ten people send fifty messages on each platform that redelivers, and the server is killed meanwhile. The
 * next server answers all of them, and each is in a log once.
 */
import { startCallback } from '@cairn/channels/test/callback'
import { startFakeDiscord, TOKEN as DISCORD_TOKEN } from '@cairn/channels/test/fake-discord'
import { PASSWORD, startFakeMailbox, USER } from '@cairn/channels/test/fake-mailbox'
import { startFakePost } from '@cairn/channels/test/fake-post'
import { startFakeTelegram, TOKEN as TELEGRAM_TOKEN } from '@cairn/channels/test/fake-telegram'
import { ADDRESS, SERVER, writeMail } from '@cairn/channels/test/person'
import { SECRET, signed } from '@cairn/channels/test/signed'
import { expect, onTestFinished, test } from 'vitest'
import { makePlace, type Server, startServer } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

// One answer may cover several messages: those that arrive while the model answers are combined into the next
// request.
const SCENARIO = { rules: [{ answer: { text: '{{said}}' } }] }
const POLL = { timeout: PATIENCE_MS }
const PEOPLE = 10
const EACH = 5
/** Each person's first message while the server runs, and the rest while it is down. */
const texts = Array.from({ length: EACH }, (_, at) =>
  Array.from({ length: PEOPLE }, (__, who) => ({ who: who + 1, text: `p${who + 1}-${at + 1}` })),
)
const ALL = texts.flat().map(({ text }) => text)

async function startPlatforms() {
  const callback = await startCallback(SECRET)
  const telegram = await startFakeTelegram()
  const discord = await startFakeDiscord()
  const mailbox = await startFakeMailbox()
  const post = await startFakePost()
  for (const { close } of [callback, telegram, discord, mailbox, post]) onTestFinished(close)
  const login = { host: '127.0.0.1', security: 'none', user: USER, password_env: 'MAIL' }
  const open = { access: 'open', agent: 'greeter' }
  const channels = {
    dc: { platform: 'discord', token_env: 'DC', api_url: discord.url, ...open },
    hook: { platform: 'webhook', secret_env: 'HOOK', callback_url: callback.url, ...open },
    mail: {
      platform: 'email',
      address: ADDRESS,
      authserv_id: SERVER,
      imap: { ...login, port: mailbox.port },
      smtp: { ...login, port: post.port },
      per_second: 1000,
      per_hour: 1000,
      ...open,
    },
    tg: { platform: 'telegram', token_env: 'TG', api_root: telegram.url, ...open },
  }
  const env = { DC: DISCORD_TOKEN, HOOK: SECRET, MAIL: PASSWORD, TG: TELEGRAM_TOKEN }
  /** Messages that the server has not acknowledged to the caller of the webhook. */
  let waiting: { text: string; who: number }[] = []
  return {
    channels,
    env,
    say(who: number, text: string): void {
      const id = 1000 + who
      discord.say(text, {
        channel_id: String(id),
        author: { id: String(id), username: `p${who}`, discriminator: '0', global_name: null, avatar: null },
      })
      telegram.say(text, {
        chat: { id, type: 'private', first_name: `P${who}` },
        from: { id, is_bot: false, first_name: `P${who}` },
      })
      mailbox.put(writeMail({ from: `P${who} <p${who}@example.com>`, text }))
      waiting.push({ text, who })
    },
    /**
     * Delivers the unacknowledged messages again, as a webhook's caller does. Resolves with the number still
     * left.
     */
    async bring({ url }: Server, path: string): Promise<number> {
      const left: typeof waiting = []
      for (const each of waiting) {
        const { headers, raw } = signed({
          text: each.text,
          id: `msg-${each.text}`,
          user: `U${each.who}`,
          conversation: `C${each.who}`,
        })
        const status = await fetch(url + path, { method: 'POST', headers, body: Buffer.from(raw) }).then(
          answer => answer.status,
          () => 0,
        )
        if (status !== 200) left.push(each)
      }
      waiting = left
      return left.length
    },
    answered: (): Record<string, string[]> =>
      wordsOf({
        dc: discord.messages.map(({ content }) => content),
        hook: callback.seen().map(({ text }) => text),
        mail: [...new Map(post.got.map(({ messageId, text = '' }) => [messageId, text])).values()],
        tg: telegram.messages.map(({ text }) => text),
      }),
  }
}
/** The messages that the answers contain, in order. */
const wordsOf = (answers: Record<string, string[]>): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(answers).map(([name, texts]) => [name, texts.join('\n').match(/p\d+-\d+/g) ?? []]),
  )

/** Promise 15.3: The next server answers fifty messages per platform sent around a kill. */
test(
  'after a kill, the next server answers all fifty messages of each platform',
  { timeout: 4 * PATIENCE_MS },
  async () => {
    const platforms = await startPlatforms()
    const { channels, env, say, bring, answered } = platforms
    const place = makePlace({ scenario: SCENARIO, config: { agents: { greeter: {} }, channels } })
    Object.assign(place.env, env)
    const first = await startServer(place)
    const states = async ({ client }: Server) =>
      (await client.call('listChannels', {})).channels.map(({ state }) => state)
    await expect.poll(() => states(first), POLL).toEqual(['live', 'live', 'live', 'live'])
    const path = (await first.client.call('listChannels', {})).channels[1]?.webhook_path ?? 'none'
    const [early = [], ...late] = texts
    for (const { who, text } of early) say(who, text)
    await expect.poll(() => bring(first, path), POLL).toBe(0)
    // In the middle of the burst: some messages are answered, some are stored, and some were not received.
    await expect.poll(() => Object.values(answered()).flat().length, POLL).toBeGreaterThan(3)
    await first.kill()
    for (const { who, text } of late.flat()) say(who, text)
    const second = await startServer(place)
    await expect.poll(() => bring(second, path), POLL).toBe(0)
    const missing = (name: string): string[] => ALL.filter(text => !answered()[name]?.includes(text))
    for (const name of Object.keys(channels))
      await expect
        .poll(() => missing(name), { timeout: 2 * PATIENCE_MS, message: `${name}: what is not answered` })
        .toEqual([])

    const { sessions } = await second.client.call('listSessions', { query: { limit: 200 } })
    const said: Record<string, string[]> = {}
    for (const { id, channel } of sessions)
      for (const event of await readLog(second.client, id))
        if (event.type === 'user.message')
          (said[channel ?? ''] ??= []).push(event.data.content.split('\n').at(-1) ?? '')
    for (const platform of ['discord', 'webhook', 'email', 'telegram'])
      expect([platform, said[platform]?.toSorted()]).toEqual([platform, ALL.toSorted()])
    // Each person's messages are in order. An email starts its own conversation.
    for (const name of ['dc', 'hook', 'tg'])
      for (let who = 1; who <= PEOPLE; who++) {
        const theirs = [...new Set(answered()[name])].filter(text => text.startsWith(`p${who}-`))
        expect([name, theirs]).toEqual([name, Array.from({ length: EACH }, (_, at) => `p${who}-${at + 1}`)])
      }
    // A platform that honors an idempotency key shows nothing twice, whatever the kill interrupted.
    const { tg = [], ...keyed } = answered()
    for (const [name, texts] of Object.entries(keyed))
      expect([name, texts.toSorted()]).toEqual([name, ALL.toSorted()])
    console.log(`[burst] 200 messages answered; ${tg.length - ALL.length} are answered on Telegram twice`)
  },
)
