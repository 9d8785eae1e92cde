/** Platforms that Cairn polls: Telegram's long poll and its webhook, a mailbox, Discord's gateway. */
import {
  BOB as DISCORD_BOB,
  DIRECT,
  startFakeDiscord,
  TOKEN as DISCORD_TOKEN,
} from '../discord/fake-discord.ts'
import { PASSWORD, startFakeMailbox, USER } from '../email/fake-mailbox.ts'
import { startFakePost } from '../email/fake-post.ts'
import { ADDRESS, SERVER, writeMail } from '../email/person.ts'
import {
  ANN,
  BOB,
  DIRECT as DIRECT_CHAT,
  type FakeTelegram,
  startFakeTelegram,
  TOKEN as TELEGRAM_TOKEN,
} from '../telegram/fake-telegram.ts'
import { heardMails, REFUSED_MAILS, shownMails, thread } from './mails.ts'
import { call, forgeriesOf, nothing, pendingCalls, type Signed, type Stage, UNCALLED } from './stage.ts'

const OPEN = { access: 'open', agent: 'greeter' } as const
const SECRET = 'a-secret'

async function telegram(settings: object): Promise<Stage & { fake: FakeTelegram }> {
  const fake = await startFakeTelegram()
  return {
    settings: { platform: 'telegram', token_env: 'TG_TOKEN', api_root: fake.url, ...OPEN, ...settings },
    env: { TG_TOKEN: TELEGRAM_TOKEN, TG_SECRET: SECRET },
    copies: 'flagged',
    person: { workspace: '', platform_user_id: '7' },
    fake,
    say: text => void fake.say(text),
    bring: nothing,
    shown: () => fake.messages.map(({ text }) => ({ text, key: null })),
    heard: () => JSON.stringify(fake.calls),
    ...UNCALLED,
    // Tested over the webhook; both read an update alike.
    pressElsewhere: null,
    spoof: null,
    fail() {
      const refusals = [401, 500, 429, 400].map(error_code => ({ error_code, description: 'refused' }))
      fake.fail('sendRichMessage', 'drop', ...refusals)
      fake.fail('getUpdates', 'drop', ...refusals.slice(1))
    },
    tickMs: 0,
    asks: true,
    close: fake.close,
  }
}

/** Button actions have their own ids. */
let presses = 1000

export const telegramPoll = (): Promise<Stage> => telegram({})
/** A part with an unknown outcome is a failed delivery. */
export const telegramHold = (): Promise<Stage> => telegram({ on_unknown: 'hold' })
export async function telegramWebhook(): Promise<Stage> {
  const stage = await telegram({
    mode: 'webhook',
    public_url: 'https://cairn.example.org',
    webhook_secret_env: 'TG_SECRET',
  })
  const sign = (update: object): Signed => ({
    headers: new Headers({ 'x-telegram-bot-api-secret-token': SECRET }),
    raw: Buffer.from(JSON.stringify(update)),
  })
  const { add, bring, again } = pendingCalls(sign)
  const letMeIn = {
    update_id: 1,
    message: { message_id: 1, date: 1, chat: DIRECT_CHAT, from: ANN, text: 'x' },
  }
  return {
    ...stage,
    asks: false,
    bring,
    again,
    // Telegram sends only the secret: it signs neither body nor time.
    forged: forgeriesOf(sign(letMeIn), ['x-telegram-bot-api-secret-token'], false),
    pressElsewhere: async (data, channels) => {
      const message = { message_id: 9, date: 1, chat: { id: BOB.id, type: 'private' }, text: 'x' }
      const callback_query = { id: 'q', from: BOB, message, chat_instance: 'x', data }
      await call(channels, sign({ update_id: ++presses, callback_query }))
    },
    say: text => add(stage.fake.say(text)),
  }
}

export async function mailbox(): Promise<Stage> {
  const box = await startFakeMailbox()
  const post = await startFakePost()
  const say = thread()
  const login = { host: '127.0.0.1', security: 'none', user: USER, password_env: 'MAIL_PASSWORD' } as const
  return {
    settings: {
      platform: 'email',
      address: ADDRESS,
      authserv_id: SERVER,
      imap: { ...login, port: box.port },
      smtp: { ...login, port: post.port },
      per_second: 1000,
      ...OPEN,
    },
    env: { MAIL_PASSWORD: PASSWORD },
    copies: 'one_key',
    person: { workspace: '', platform_user_id: 'ann@example.com' },
    say: text => void box.put(writeMail(say(text))),
    bring: nothing,
    shown: () => shownMails(post.got),
    heard: () => heardMails(post.got),
    ...UNCALLED,
    pressElsewhere: null,
    spoof: text => void box.put(writeMail({ text, verdict: null })),
    fail: () => post.fail(...REFUSED_MAILS),
    tickMs: 0,
    asks: true,
    async close() {
      await box.close()
      await post.close()
    },
  }
}

const BOBS_DIRECT = '80'
/** As Discord reports a button action in another person's direct conversation. */
const pressIn = (channel_id: string, custom_id: string): object => ({
  id: String(++presses),
  application_id: '4242',
  type: 3,
  data: { component_type: 2, custom_id },
  user: { ...DISCORD_BOB },
  channel_id,
  channel: { id: channel_id, type: 1 },
  token: 'interaction-token',
  version: 1,
  locale: 'en-US',
})

export async function discord(): Promise<Stage> {
  const fake = await startFakeDiscord()
  return {
    settings: { platform: 'discord', token_env: 'DC_TOKEN', api_url: fake.url, ...OPEN },
    env: { DC_TOKEN: DISCORD_TOKEN },
    copies: 'once',
    person: { workspace: '', platform_user_id: '7' },
    say: text => void fake.say(text, { channel_id: DIRECT }),
    bring: nothing,
    shown: () => fake.messages.map(({ content, nonce }) => ({ text: content, key: String(nonce) })),
    heard: () => JSON.stringify(fake.calls),
    ...UNCALLED,
    pressElsewhere: custom_id => fake.push('INTERACTION_CREATE', pressIn(BOBS_DIRECT, custom_id)),
    spoof: null,
    fail() {
      const refusals = [401, 500, 429, 400].map(status => ({ status, body: { message: 'refused', code: 0 } }))
      fake.fail(/^POST .*\/messages$/, 'drop', ...refusals)
    },
    tickMs: 0,
    asks: true,
    close: fake.close,
  }
}
