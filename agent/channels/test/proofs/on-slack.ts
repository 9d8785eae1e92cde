/** Slack, over the Events API and over Socket Mode: one thread of a channel is the conversation. */
import {
  APP_TOKEN,
  BOT,
  BOT_TOKEN,
  envelope,
  pressed,
  signedBySlack,
  SIGNING_SECRET,
  startFakeSlack,
  TEAM,
} from '../slack/fake-slack.ts'
import { call, forgeriesOf, pendingCalls, type Stage, UNCALLED } from './stage.ts'

type Event = Record<string, unknown>

async function slack(mode: 'events' | 'socket'): Promise<Stage & { fake: Fake; said: Said }> {
  const fake = await startFakeSlack()
  let root: string | undefined
  return {
    fake,
    async said(text) {
      const event = await fake.say('ann', fake.talk, `<@${BOT}> ${text}`, root)
      root ??= (event['event'] as { ts: string }).ts
      return event
    },
    settings: {
      platform: 'slack',
      mode,
      bot_token_env: 'SLACK_BOT',
      ...(mode === 'events' ? { signing_secret_env: 'SLACK_SIGN' } : { app_token_env: 'SLACK_APP' }),
      api_url: fake.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
    env: { SLACK_BOT: BOT_TOKEN, SLACK_SIGN: SIGNING_SECRET, SLACK_APP: APP_TOKEN },
    copies: 'once',
    person: { workspace: TEAM, platform_user_id: fake.ids.ann },
    say: () => undefined,
    bring: async () => undefined,
    async shown() {
      const messages = root === undefined ? [] : await fake.messages(fake.talk, root)
      return messages
        .filter(({ user }) => user === BOT)
        .map(({ text, metadata }) => ({ text, key: metadata?.event_payload.key ?? null }))
    },
    heard: () => JSON.stringify(fake.calls),
    ...UNCALLED,
    pressElsewhere: null,
    spoof: null,
    fail: () => fake.fail('chat.postMessage', { error: 'invalid_auth' }, { status: 500 }, 'drop', 'limit'),
    tickMs: 0,
    asks: mode === 'socket',
    close: fake.close,
  }
}
type Fake = Awaited<ReturnType<typeof startFakeSlack>>
type Said = (text: string) => Promise<Event>

export async function slackEvents(): Promise<Stage> {
  const stage = await slack('events')
  const { add, bring, again } = pendingCalls<Event>(event => signedBySlack(event))
  const { ids } = stage.fake
  const letMeIn = envelope({
    type: 'message',
    channel: 'D1',
    channel_type: 'im',
    user: ids.ann,
    text: 'x',
    ts: '1.1',
  })
  const headers = ['x-slack-request-timestamp', 'x-slack-signature']
  const stale = [-6, 6].map(minutes => Date.now() + minutes * 60_000)
  return {
    ...stage,
    bring,
    again,
    forged: [
      ...forgeriesOf(signedBySlack(letMeIn), headers, true),
      { what: 'another secret', ...signedBySlack(letMeIn, { secret: 'another' }) },
      ...stale.map(at => ({ what: 'stale', ...signedBySlack(letMeIn, { at }) })),
    ],
    pressElsewhere: async (value, channels) => {
      const button = { action_id: 'x', value, text: { text: 'Red' } }
      const message = { ts: '1.2', user: BOT, text: 'x', blocks: [{ type: 'actions', elements: [button] }] }
      await call(channels, signedBySlack(pressed(ids.bob, 'D2', message, 'Red')))
    },
    say: async text => add(await stage.said(text)),
  }
}

export async function slackSocket(): Promise<Stage> {
  const stage = await slack('socket')
  const { sockets } = stage.fake
  /** Sent over the n-th socket that was opened. */
  type Pending = { event: Event; sent: { id: string; over: number } | null }
  let pending: Pending[] = []
  return {
    ...stage,
    say: async text => void pending.push({ event: await stage.said(text), sent: null }),
    // Unacknowledged messages come again over the next socket.
    bring: async () => {
      const over = sockets.opened()
      const isTaken = ({ sent }: Pending): boolean => sent !== null && sockets.acknowledged.includes(sent.id)
      pending = pending.filter(each => !isTaken(each))
      if (sockets.count() === 0) return
      for (const each of pending)
        if (each.sent?.over !== over) each.sent = { id: sockets.send(each.event), over }
    },
  }
}
