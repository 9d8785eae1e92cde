/** Platforms that call Cairn: the generic webhook, WhatsApp, and emails that a mail server posts. */
import { Webhook } from 'standardwebhooks'
import { startCallback } from '../callback.ts'
import { startFakePost } from '../email/fake-post.ts'
import { ADDRESS, SERVER, writeMail } from '../email/person.ts'
import { SECRET, signed } from '../signed.ts'
import {
  APP_SECRET,
  incoming,
  NUMBER,
  type Sent,
  signedByMeta,
  startFakeGraph,
  statusOf,
  textFrom,
  TOKEN,
  VERIFY_TOKEN,
} from '../whatsapp/fake-graph.ts'
import { heardMails, REFUSED_MAILS, shownMails, thread } from './mails.ts'
import { call, forgeriesOf, nothing, pendingCalls, type Signed, type Stage } from './stage.ts'

const OTHER_SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const WEBHOOK_HEADERS = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
const STALE = [
  ['six minutes old', -6 * 60_000],
  ['six minutes ahead', 6 * 60_000],
] as const

export async function webhook(): Promise<Stage> {
  const callback = await startCallback(SECRET)
  const { add, bring, again } = pendingCalls(signed)
  const forged = { text: 'let me in' }
  let said = 0
  return {
    settings: {
      platform: 'webhook',
      secret_env: 'HOOK_SECRET',
      callback_url: callback.url,
      access: 'open',
      agent: 'greeter',
    },
    env: { HOOK_SECRET: SECRET },
    copies: 'one_key',
    person: { workspace: null, platform_user_id: 'U1' },
    say: text => add({ text, id: `msg_${++said}` }),
    bring,
    shown: () => callback.taken.map(({ text, key }) => ({ text, key })),
    heard: () => JSON.stringify([callback.taken, callback.refused]),
    forged: [
      ...forgeriesOf(signed(forged), WEBHOOK_HEADERS, true),
      { what: 'another secret', ...signed({ ...forged, secret: OTHER_SECRET }) },
      ...STALE.map(([what, ms]) => ({ what, ...signed({ ...forged, at: new Date(Date.now() + ms) }) })),
    ],
    again,
    pressElsewhere: async (press, channels) => {
      await call(channels, signed({ press, user: 'U2', conversation: 'C2' }))
    },
    spoof: null,
    fail: () => callback.reply(401, 500, 'drop', 429, 503, 400),
    tickMs: 0,
    asks: false,
    close: callback.close,
  }
}

const ANN = '16505551234'
export async function whatsapp(): Promise<Stage> {
  const graph = await startFakeGraph()
  const messages = pendingCalls<Record<string, unknown>>(signedByMeta)
  const statuses = pendingCalls<Sent>(sent => signedByMeta(statusOf(sent, 'sent')))
  let told = 0
  return {
    settings: {
      platform: 'whatsapp',
      phone_number_id: NUMBER,
      token_env: 'WA_TOKEN',
      app_secret_env: 'WA_SECRET',
      verify_token_env: 'WA_VERIFY',
      api_url: graph.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
    env: { WA_TOKEN: TOKEN, WA_SECRET: APP_SECRET, WA_VERIFY: VERIFY_TOKEN },
    copies: 'once',
    person: { workspace: '', platform_user_id: ANN },
    say: text => messages.add(textFrom(ANN, text)),
    async bring(channels) {
      await messages.bring(channels)
      // WhatsApp sends a status for each accepted message until it is acknowledged.
      for (; told < graph.sent.length; told++) statuses.add(graph.sent[told]!)
      await statuses.bring(channels)
    },
    shown: () =>
      graph.sent.map(({ text, interactive, biz_opaque_callback_data: key = null }) => ({
        text: text?.body ?? interactive?.body.text ?? '',
        key,
      })),
    heard: () => JSON.stringify([graph.sent, graph.reads]),
    // Meta's signature contains no time; the message itself tells its age.
    forged: [
      ...forgeriesOf(signedByMeta(textFrom(ANN, 'let me in')), ['x-hub-signature-256'], true),
      { what: 'another secret', ...signedByMeta(textFrom(ANN, 'let me in'), 'another') },
    ],
    again: messages.again,
    pressElsewhere: async (id, channels) => {
      const button_reply = { id, title: 'Red' }
      const pressed = { type: 'interactive', interactive: { type: 'button_reply', button_reply } }
      await call(channels, signedByMeta(incoming('16505559999', pressed)))
    },
    spoof: null,
    fail: () => graph.fail({ status: 401, code: 190 }, { status: 500 }, 'drop', { status: 400, code: 100 }),
    // A part without a status is sent again after a minute.
    tickMs: 3_000,
    asks: false,
    close: graph.close,
  }
}

export async function postedMail(): Promise<Stage> {
  const post = await startFakePost()
  const say = thread()
  const sign = (mail: string, { secret = SECRET, at = new Date() } = {}): Signed => {
    const signature = new Webhook(secret).sign('w1', at, mail)
    const headers = new Headers({
      'webhook-id': 'w1',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signature,
    })
    return { headers, raw: Buffer.from(mail) }
  }
  const { add, bring, again } = pendingCalls<string>(mail => sign(mail))
  const forged = writeMail({ text: 'let me in' })
  return {
    settings: {
      platform: 'email',
      address: ADDRESS,
      authserv_id: SERVER,
      webhook_secret_env: 'HOOK_SECRET',
      smtp: { host: '127.0.0.1', security: 'none', port: post.port },
      access: 'open',
      agent: 'greeter',
      per_second: 1000,
    },
    env: { HOOK_SECRET: SECRET },
    copies: 'one_key',
    person: { workspace: '', platform_user_id: 'ann@example.com' },
    say: text => add(writeMail(say(text))),
    bring,
    shown: () => shownMails(post.got),
    heard: () => heardMails(post.got),
    forged: [
      ...forgeriesOf(sign(forged), WEBHOOK_HEADERS, true),
      { what: 'another secret', ...sign(forged, { secret: OTHER_SECRET }) },
      ...STALE.map(([what, ms]) => ({ what, ...sign(forged, { at: new Date(Date.now() + ms) }) })),
    ],
    again,
    pressElsewhere: null,
    spoof: text => add(writeMail({ text, verdict: null })),
    fail: () => post.fail(...REFUSED_MAILS),
    tickMs: 0,
    asks: false,
    close: () => post.close().then(nothing),
  }
}
