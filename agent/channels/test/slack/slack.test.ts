/** The Slack channel on `emulate`: what people see, and how failures are handled. */
import { randomUUID } from 'node:crypto'
import { writer } from '@cairn/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, call, KINDS, type Kind, logOf, makeBench, sessionsOf } from '../bench.ts'
import { holdConversation } from '../hold-conversation.ts'
import {
  APP_TOKEN,
  BOT,
  BOT_TOKEN,
  type FakeSlack,
  type Kept,
  type Person,
  pressed,
  signedBySlack,
  SIGNING_SECRET,
  startFakeSlack,
  TEAM,
} from './fake-slack.ts'

type Settings = { mode?: 'events' | 'socket'; groups?: 'mention' | 'all'; reply_in?: 'thread' | 'channel' }
const ENV = { SLACK_BOT: BOT_TOKEN, SLACK_APP: APP_TOKEN, SLACK_SIGN: SIGNING_SECRET }

async function startSlack(kind: Kind, { mode = 'events', ...settings }: Settings = {}, echo = true) {
  const slack = await startFakeSlack()
  onTestFinished(slack.close)
  const tokens = mode === 'events' ? { signing_secret_env: 'SLACK_SIGN' } : { app_token_env: 'SLACK_APP' }
  const bench = await makeBench(
    kind,
    {},
    { disclosure: { level: 'basic', operator: 'Example Ltd' } },
    {
      echo,
      env: ENV,
      only: {
        support: {
          platform: 'slack',
          mode,
          bot_token_env: 'SLACK_BOT',
          ...tokens,
          api_url: slack.apiUrl,
          access: 'open',
          agent: 'greeter',
          ...settings,
        },
      },
    },
  )
  const channels = await bench.start()
  const give = async (payload: Record<string, unknown>): Promise<void> => {
    if (mode === 'events') return void (await call(channels, signedBySlack(payload)))
    const id = slack.sockets.send(payload)
    await expect.poll(() => slack.sockets.acknowledged).toContain(id)
  }
  if (mode === 'socket') await expect.poll(slack.sockets.count).toBe(1)
  return { slack, bench, channels, give, dm: await slack.dm('ann') }
}

const textOf = ({ text, blocks = [] }: Kept): string =>
  blocks.flatMap(block => (block.type === 'markdown' ? [block.text ?? ''] : [])).join('\n') || text
const ours = async (slack: FakeSlack, channel: string, thread?: string): Promise<Kept[]> =>
  (await slack.messages(channel, thread)).filter(({ user }) => user === BOT)
const command = (slack: FakeSlack, who: Person, channel: string, text: string) => ({
  command: '/cairn',
  text,
  team_id: TEAM,
  channel_id: channel,
  user_id: slack.ids[who],
  user_name: who,
  trigger_id: randomUUID(),
})

/**
 * Promise 15.3, 15.4: The Slack adapter speaks the protocol of Slack's own clients and of another adapter.
 */
test.each(['events', 'socket'] as const)('over %s the channel completes a conversation', async mode => {
  const { slack, bench, give, dm } = await startSlack('sqlite', { mode }, false)
  const pressAs = async (who: Person, label: string): Promise<void> => {
    const message = (await ours(slack, dm)).findLast(({ blocks = [] }) =>
      blocks.some(({ elements = [] }) => elements.some(({ text }) => text.text === label)),
    )
    await give(pressed(slack.ids[who], dm, message!, label))
  }
  await holdConversation(bench, {
    say: async text =>
      text.startsWith('/')
        ? give(await slack.say('ann', dm, ` ${text}`))
        : give(await slack.say('ann', dm, text)),
    press: label => pressAs('ann', label),
    pressAsStranger: label => pressAs('bob', label),
    shown: async () => (await ours(slack, dm)).map(textOf),
  })
  const sent = JSON.stringify(slack.calls)
  for (const secret of Object.values(ENV)) expect(sent).not.toContain(secret)
})

test('a mention starts a conversation in its thread, and a mention in the thread continues it', async () => {
  const { slack, bench, give } = await startSlack('sqlite')
  const asked = await slack.say('ann', slack.talk, `<@${BOT}> hello`)
  const { ts } = asked['event'] as { ts: string }
  await give(asked)
  // Slack also sends the same text as app_mention.
  await give({ ...asked, event_id: 'other', event: { ...(asked['event'] as object), type: 'app_mention' } })
  const said = async () => (await ours(slack, slack.talk, ts)).map(textOf)
  await expect.poll(said).toHaveLength(2)
  expect((await said())[1]).toBe('echo: hello')
  await give(await slack.say('bob', slack.talk, `again <@${BOT}>`, ts))
  await expect.poll(said).toHaveLength(3)
  await give(await slack.say('bob', slack.talk, 'among ourselves', ts))
  await give(command(slack, 'ann', slack.talk, 'status'))
  await give(await slack.say('bob', slack.talk, 'stop', ts))
  await give(await slack.say('bob', slack.talk, 'stop'))
  await expect.poll(said).toHaveLength(4)
  const sessions = await sessionsOf(bench.store)
  expect(sessions).toHaveLength(1)
  const log = await logOf(bench.store, sessions[0]!.id)
  expect(log.filter(({ type }) => type === 'user.message').map(({ data }) => data)).toMatchObject([
    { content: 'hello', source: { platform: 'slack', chat_type: 'channel', thread_id: ts, ts } },
    { content: 'again' },
    { content: '/stop' },
  ])
})

/** Promise 15.4: A part whose Slack response was lost is looked up and posted once. */
test.each(KINDS)('on %s a part whose response was lost is posted once on Slack', async kind => {
  const { slack, give, dm } = await startSlack(kind)
  slack.fail('chat.postMessage', 'drop', { status: 500 }, 'limit', { status: 503 }, 'drop')
  await give(await slack.say('ann', dm, 'hello'))
  const said = async () => (await ours(slack, dm)).map(textOf)
  await expect.poll(said, { timeout: 20_000 }).toHaveLength(2)
  expect((await said())[1]).toBe('echo: hello')
  await give(await slack.say('ann', dm, 'once more'))
  await expect.poll(said, { timeout: 20_000 }).toHaveLength(3)
  const keys = slack.calls
    .filter(({ method }) => method === 'chat.postMessage')
    .map(({ body }) => body['client_msg_id'])
  expect(new Set(keys).size).toBe(3)
})

test('blocks that Slack rejects are sent as plain text', async () => {
  const { slack, give, dm } = await startSlack('sqlite')
  slack.fail('chat.postMessage', { error: 'invalid_blocks' })
  await give(await slack.say('ann', dm, 'hello <b> & *co*'))
  await expect.poll(async () => (await ours(slack, dm)).length).toBe(2)
  expect((await ours(slack, dm)).some(({ blocks }) => blocks === undefined)).toBe(true)
})

/** Promise 15.3, 15.6: A forged, stale or repeated Slack request changes nothing. */
test('forged, stale and repeated requests change nothing, and a challenge is answered', async () => {
  const { slack, bench, channels, give, dm } = await startSlack('sqlite')
  const payload = await slack.say('ann', dm, 'hello')
  for (const how of [{ secret: 'forged' }, { at: Date.now() - 301_000 }])
    await expect(call(channels, signedBySlack(payload, how))).rejects.toMatchObject({ code: 'bad_signature' })
  expect(await sessionsOf(bench.store)).toEqual([])
  for (let times = 0; times < 3; times++) await give(payload)
  await expect.poll(async () => (await ours(slack, dm)).map(textOf).at(-1)).toBe('echo: hello')
  const [session] = await sessionsOf(bench.store)
  const log = await logOf(bench.store, session!.id)
  expect(log.filter(({ type }) => type === 'user.message')).toHaveLength(1)
  const challenge = await call(channels, signedBySlack({ type: 'url_verification', challenge: 'abc' }))
  expect(await challenge.text()).toBe('abc')
})

test('a rejected token breaks the connection, and pending messages are sent once it works again', async () => {
  const { slack, bench, give, dm } = await startSlack('sqlite')
  slack.fail('chat.postMessage', { error: 'invalid_auth' })
  await give(await slack.say('ann', dm, 'hello'))
  await expect
    .poll(async () => (await bench.store.channels.listConnections('org_1'))[0])
    .toMatchObject({
      last_error: 'Slack returned invalid_auth',
    })
  await expect.poll(async () => (await ours(slack, dm)).length, { timeout: 20_000 }).toBe(2)
})

test('a renewed or lost socket is reopened, and unacknowledged messages arrive again', async () => {
  const { slack, give, dm } = await startSlack('sqlite', { mode: 'socket' })
  slack.sockets.renew()
  await expect.poll(slack.sockets.opened).toBe(2)
  await expect.poll(slack.sockets.count).toBe(1)
  await give(await slack.say('ann', dm, 'one'))
  slack.sockets.kill()
  await expect.poll(slack.sockets.opened, { timeout: 20_000 }).toBe(3)
  await expect.poll(slack.sockets.count).toBe(1)
  await give(await slack.say('ann', dm, 'two'))
  await expect
    .poll(async () => (await ours(slack, dm)).map(textOf).slice(1), { timeout: 20_000 })
    .toEqual(['echo: one', 'echo: two'])
})

test('an app token that is rejected three times breaks the connection', async () => {
  const slack = await startFakeSlack()
  onTestFinished(slack.close)
  slack.sockets.refuse('invalid_auth', 'invalid_auth', 'invalid_auth')
  const only = {
    support: {
      platform: 'slack',
      bot_token_env: 'SLACK_BOT',
      app_token_env: 'SLACK_APP',
      api_url: slack.apiUrl,
      access: 'open',
      agent: 'greeter',
    },
  } as const
  const bench: Bench = await makeBench('sqlite', {}, {}, { env: ENV, only })
  await bench.start()
  await expect
    .poll(async () => (await bench.store.channels.listConnections('org_1'))[0])
    .toMatchObject({ state: 'broken', last_error: 'Slack returned invalid_auth for the app token' })
})

test('a received file is stored in the workspace, and an artifact is sent as a file', async () => {
  const { slack, bench, give, dm } = await startSlack('sqlite', {}, false)
  slack.files.set('/files-pri/T1-F1/notes.txt', Buffer.from('what was noted'))
  const said = await slack.say('ann', dm, 'look at this')
  const file = {
    id: 'F1',
    name: 'notes.txt',
    mimetype: 'text/plain',
    size: 14,
    url_private_download: `${new URL(slack.apiUrl).origin}/files-pri/T1-F1/notes.txt`,
  }
  const foreign = {
    ...file,
    id: 'F2',
    name: 'theirs.txt',
    url_private_download: 'https://evil.example/theirs.txt',
  }
  await give({
    ...said,
    event: { ...(said['event'] as object), subtype: 'file_share', files: [file, foreign] },
  })
  await expect.poll(async () => (await sessionsOf(bench.store)).length).toBe(1)
  const [session] = await sessionsOf(bench.store)
  await expect
    .poll(async () => (await logOf(bench.store, session!.id))[0]?.data, { timeout: 30_000 })
    .toMatchObject({
      content: expect.stringContaining('[attachment could not be downloaded: theirs.txt]'),
      attachments: [{ filename: 'notes.txt' }],
    })
  const artifact = { artifact_id: 'a1', name: 'Report', kind: 'markdown', version: 1, size: 6 } as const
  const created = writer('tools')('artifact.created', {
    ...artifact,
    tool_call_id: 'c1',
    originating_session_id: session!.id,
  })
  await bench.store.commit({
    session_id: session!.id,
    events: [created],
    rows: [{ do: 'artifact.add', artifact, spec: { kind: 'markdown', content: '# Hello' } }],
  })
  await expect
    .poll(async () => (await ours(slack, dm)).flatMap(({ files = [] }) => files.map(({ name }) => name)))
    .toEqual(['Report.md'])
})
