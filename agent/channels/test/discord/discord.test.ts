/**
 * The Discord channel on the fake that discord.js verifies: what people see, and how failures are handled.
 */
import { writer } from '@cairn/protocol'
import { Client, GatewayIntentBits } from 'discord.js'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, KINDS, type Kind, logOf, makeBench, sessionsOf } from '../bench.ts'
import { holdConversation } from '../hold-conversation.ts'
import { response } from '../worker.ts'
import { BOB, DIRECT, type FakeDiscord, GENERAL, ME, startFakeDiscord, TOKEN } from './fake-discord.ts'

const turn = writer('turn')
const SOON = { timeout: 15_000 }

async function makeDiscord(
  kind: Kind = 'sqlite',
  settings: object = {},
  config: object = {},
  echo = true,
): Promise<Bench & { discord: FakeDiscord }> {
  const discord = await startFakeDiscord()
  onTestFinished(discord.close)
  const dc = {
    platform: 'discord' as const,
    token_env: 'DC_TOKEN',
    access: 'open' as const,
    agent: 'greeter',
    api_url: discord.url,
    ...settings,
  }
  const bench = await makeBench(kind, {}, config, { only: { dc }, env: { DC_TOKEN: TOKEN }, echo })
  return { ...bench, discord }
}
const stateOf = async ({ store }: Bench) => (await store.channels.listConnections('org_1'))[0]
const isLive = (bench: Bench) => expect.poll(async () => (await stateOf(bench))?.state, SOON).toBe('live')
const texts = ({ messages }: FakeDiscord): string[] => messages.map(({ content }) => content)

test.each(KINDS)(
  'on %s a person completes a conversation with a question, an approval and a stop on Discord',
  { timeout: 120_000 },
  async kind => {
    const disclosure = { level: 'basic', operator: 'Example Ltd' }
    const bench = await makeDiscord(kind, {}, { disclosure }, false)
    const { discord, start } = bench
    await start()
    await isLive(bench)
    await holdConversation(bench, {
      say: async text => void discord.say(text),
      press: async label => void discord.press(label),
      async pressAsStranger(label) {
        discord.press(label, BOB)
        await expect.poll(() => discord.whispers).toEqual(['You are not allowed to decide this.'])
      },
      shown: async () => texts(discord),
    })
    const commands = discord.calls.find(({ path }) => path.endsWith('/commands'))?.body
    expect(commands).toContainEqual(expect.objectContaining({ name: 'stop' }))
    expect(discord.messages.every(({ mentions }) => JSON.stringify(mentions) === '{"parse":[]}')).toBe(true)
    expect(JSON.stringify(await stateOf(bench))).not.toContain(TOKEN)
  },
)

test('the connection turns live only after its gateway session is stored', async () => {
  const bench = await makeDiscord()
  const { channels } = bench.store
  const cursors: unknown[] = []
  const watched: typeof channels = {
    ...channels,
    async setConnection(id, state, error) {
      if (state === 'live') cursors.push((await channels.getConnection(id))?.poll_cursor)
      await channels.setConnection(id, state, error)
    },
  }
  await bench.start(
    new Proxy(bench.store, {
      get: (of, name) => (name === 'channels' ? watched : (Reflect.get(of, name, of) as unknown)),
    }),
  )
  await isLive(bench)
  expect(cursors).toEqual([expect.stringContaining('session-1')])
})

/** Promise 15.3, 15.4: The Discord adapter speaks the protocol of discord.js. */
test('discord.js’s own client logs in to the fake, reads messages, sends buttons and receives clicks', async () => {
  const discord = await startFakeDiscord()
  onTestFinished(discord.close)
  const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits
  const client = new Client({
    intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
    partials: [1],
    rest: { api: discord.url },
  })
  onTestFinished(() => client.destroy())
  const heard: string[] = []
  client.on('messageCreate', message => {
    heard.push(`${message.author.username}: ${message.content}`)
    const button = { type: 2, style: 2, label: 'Yes', custom_id: 'x:0' } as const
    void message.reply({ content: 'Sure?', components: [{ type: 1, components: [button] }] })
  })
  client.on('interactionCreate', interaction => {
    if (!interaction.isButton()) return
    heard.push(interaction.customId)
    void interaction.deferUpdate().then(() => interaction.message.edit('Done.'))
  })
  await client.login(TOKEN)
  await expect.poll(() => discord.sockets(), SOON).toBe(1)
  discord.say('hello')
  await expect.poll(() => discord.messages, SOON).toHaveLength(1)
  discord.press('Yes')
  await expect.poll(() => discord.messages[0], SOON).toMatchObject({ content: 'Done.', edits: 1 })
  expect(heard).toEqual(['ann: hello', 'x:0'])
  await expect(new Client({ intents: [Guilds], rest: { api: discord.url } }).login('wrong')).rejects.toThrow()
})

test('an answer is shown while it is written, and the final answer replaces it on Discord', async () => {
  const bench = await makeDiscord('sqlite', {}, {}, false)
  const { store, discord, start } = bench
  await start()
  await isLive(bench)
  discord.say('tell me')
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const [session] = await sessionsOf(store)
  const at = { turn_id: 't', iteration_index: 0 }
  const delta = (data: { content: string } | { reasoning: string }) =>
    store.commit({ session_id: session!.id, events: [turn('llm.delta', { ...data, ...at })] })
  await delta({ reasoning: 'canary-reasoning' })
  await delta({ content: 'Once upon a time there was a ' })
  await expect.poll(() => texts(discord), SOON).toEqual(['Once upon a time there was a'])
  await store.commit({ session_id: session!.id, events: [response('The **end**.')] })
  await expect.poll(() => texts(discord), SOON).toEqual(['The **end**.'])
  expect(discord.calls.map(({ path }) => path)).toContain(`/channels/${DIRECT}/typing`)
  expect(JSON.stringify(discord.calls)).not.toContain('canary-reasoning')
})

test('a mention in a server opens a thread, which continues without further mentions', async () => {
  const bench = await makeDiscord()
  const { store, discord, start } = bench
  await start()
  await isLive(bench)
  const { say, inGuild } = discord
  say('just talking', inGuild(GENERAL))
  say('a bot speaks', { ...inGuild(GENERAL), author: { ...BOB, bot: true }, mentions: [ME] })
  const mention = say(`<@${ME.id}> what is <@8> doing`, { ...inGuild(GENERAL), mentions: [ME, BOB] })
  const thread = String(mention['id'])
  await expect.poll(() => texts(discord), SOON).toEqual(['echo: what is @Bob doing'])
  expect([...discord.threads]).toEqual([thread])
  expect(discord.messages[0]?.channel).toBe(thread)
  say('and now?', inGuild(thread))
  await expect.poll(() => texts(discord).at(-1), SOON).toBe('echo: and now?')
  expect(await sessionsOf(store)).toHaveLength(1)
  const said = say('typo', { ...inGuild(thread) })
  await expect.poll(() => texts(discord).at(-1), SOON).toBe('echo: typo')
  // An update that only adds a link preview is not an edit.
  discord.push('MESSAGE_UPDATE', said)
  discord.edit(said, 'no typo')
  await expect.poll(() => texts(discord).at(-1), SOON).toBe('echo: (edited) no typo')
  discord.command('status', BOB, thread)
  await expect.poll(() => discord.whispers, SOON).toEqual(['No turn is running.'])
  expect(discord.messages).toHaveLength(4)
})

/** Promise 15.4: A part whose Discord response was lost is posted once. */
test('a part whose response was lost is posted once, and a rate limit is waited out', async () => {
  const bench = await makeDiscord()
  const { discord, start, store } = bench
  await start()
  await isLive(bench)
  const limited = { status: 429, body: { message: 'rate limited', retry_after: 0.05, global: false } }
  discord.fail(/^POST .*\/messages$/, 'drop', limited)
  discord.say('hello')
  const [connection] = await store.channels.listConnections('org_1')
  await expect
    .poll(async () => (await store.channels.listDeliveries(connection!.id, 'sent', 10)).length, SOON)
    .toBe(1)
  expect(texts(discord)).toEqual(['echo: hello'])
  expect(discord.calls.filter(({ path }) => path.endsWith('/messages'))).toHaveLength(3)
})

/** Promise 15.3: Discord messages sent while the bot was offline arrive once. */
test('messages sent while the bot is offline arrive once after it reconnects', async () => {
  const bench = await makeDiscord()
  const { discord, start, store } = bench
  const first = await start()
  await isLive(bench)
  discord.say('one')
  await expect.poll(() => texts(discord), SOON).toEqual(['echo: one'])
  discord.cut()
  await expect.poll(() => discord.sockets(), SOON).toBe(1)
  discord.say('two')
  await expect.poll(() => texts(discord).at(-1), SOON).toBe('echo: two')
  await first.stop()
  discord.say('three')
  await start()
  await expect.poll(() => texts(discord).at(-1), SOON).toBe('echo: three')
  const [session] = await sessionsOf(store)
  const said = (await logOf(store, session!.id)).filter(({ type }) => type === 'user.message')
  expect(said.map(({ data }) => (data as { content: string }).content)).toEqual(['one', 'two', 'three'])
})

test.each([
  [4004, 'rejected the token'],
  [4014, 'message content intent'],
])('close code %i is reported with the fix, and a restart does not retry it', async (code, words) => {
  const bench = await makeDiscord()
  const { discord, start, store } = bench
  discord.closeNext(code, code, code)
  const first = await start()
  await expect
    .poll(() => stateOf(bench), SOON)
    .toMatchObject({ state: 'broken', last_error: expect.stringContaining(words) })
  await first.stop()
  const tried = discord.calls.length
  await start()
  expect(await stateOf(bench)).toMatchObject({ state: 'broken' })
  expect(discord.calls).toHaveLength(tried)
  await store.channels.enableConnection((await stateOf(bench))!.id)
  await isLive(bench)
})

test('a received file is stored in the inbox folder of the workspace', async () => {
  const bench = await makeDiscord()
  const { discord, start, store } = bench
  await start()
  await isLive(bench)
  const url = discord.cdn('note.txt', Buffer.from('hello'))
  discord.say('read this', {
    attachments: [{ id: '1', filename: 'note.txt', content_type: 'text/plain', size: 5, url }],
  })
  await expect.poll(async () => (await sessionsOf(store)).length, SOON).toBe(1)
  const [session] = await sessionsOf(store)
  await expect
    .poll(async () => (await logOf(store, session!.id))[0]?.data, SOON)
    .toMatchObject({
      content: 'read this',
      attachments: [{ path: expect.stringMatching(/^inbox\/\d+-note\.txt$/), size: 5 }],
    })
})
