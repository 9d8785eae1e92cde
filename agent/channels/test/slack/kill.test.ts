/** A process that dies at any of its writes: on Slack, which is asked what it has, everything is there once. */
import { rounds } from '@cairn/protocol/test/attacks'
import { expect, onTestFinished, test } from 'vitest'
import { call, KINDS, type Kind, logOf, makeBench, sessionsOf } from '../bench.ts'
import { type Death, mortalStore } from '../mortal-store.ts'
import {
  BOT,
  BOT_TOKEN,
  type FakeSlack,
  signedBySlack,
  SIGNING_SECRET,
  startFakeSlack,
} from './fake-slack.ts'

/** One message in a thread of its own while the first process dies as told; a second one goes on. */
async function liveThrough(slack: FakeSlack, kind: Kind, death: Death | null): Promise<number> {
  const only = {
    support: {
      platform: 'slack',
      mode: 'events',
      bot_token_env: 'SLACK_BOT',
      signing_secret_env: 'SLACK_SIGN',
      api_url: slack.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
  } as const
  const env = { SLACK_BOT: BOT_TOKEN, SLACK_SIGN: SIGNING_SECRET }
  const disclosure = { disclosure: { level: 'basic' } } as const
  const { store, start, advance } = await makeBench(kind, {}, disclosure, { only, env })
  const asked = await slack.say('ann', slack.talk, `<@${BOT}> hello`)
  const { ts } = asked['event'] as { ts: string }
  const shown = async (): Promise<string[]> =>
    (await slack.messages(slack.talk, ts)).filter(({ user }) => user === BOT).map(({ text }) => text)
  const mortal = mortalStore(store, death)
  const lives = <T>(promise: Promise<T>): Promise<T | null> =>
    death === null ? promise : promise.catch(() => null)
  const first = await lives(start(mortal.store))
  const wasTaken = first !== null && (await lives(call(first, signedBySlack(asked)))) !== null
  if (death !== null) {
    await mortal.died
    await first?.stop()
    advance(31_000)
    const second = await start()
    // Slack sends again what nobody has acknowledged.
    if (!wasTaken) await call(second, signedBySlack(asked))
  }
  const wanted = [expect.stringContaining('an AI system'), 'echo: hello']
  await expect.poll(shown, { timeout: 30_000 }).toEqual(wanted)
  const [session, ...others] = await sessionsOf(store)
  expect(others).toEqual([])
  await expect
    .poll(async () => (await store.channels.conversationOf(session!.id))?.delivered_through)
    .toBe((await logOf(store, session!.id)).at(-1)?.id)
  // Once everything is settled there is still one of each.
  expect(await shown()).toEqual(wanted)
  const said = (await logOf(store, session!.id)).filter(({ type }) => type === 'user.message')
  expect(said).toHaveLength(1)
  return mortal.calls()
}

test.each(KINDS)(
  'on %s a kill at every write leaves one copy of each part on Slack',
  { timeout: 300_000 },
  async kind => {
    const slack = await startFakeSlack()
    onTestFinished(slack.close)
    const writes = await liveThrough(slack, kind, null)
    expect(writes).toBeGreaterThan(10)
    const step = kind === 'sqlite' ? rounds(5, 1) : rounds(8, 1)
    for (let at = 3; at <= writes; at += step)
      for (const when of ['before', 'after'] as const) await liveThrough(slack, kind, { at, when })
  },
)
