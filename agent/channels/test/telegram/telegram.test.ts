/** The Telegram channel on the fake that grammY verifies: what people see, and how failures are handled. */
import { writer } from '@cairn/protocol'
import { Bot } from 'grammy'
import { expect, onTestFinished, test } from 'vitest'
import { type Bench, KINDS, type Kind, logOf, makeBench, sessionsOf } from '../bench.ts'
import { holdConversation } from '../hold-conversation.ts'
import { response } from '../worker.ts'
import { BOB, type FakeTelegram, GROUP, startFakeTelegram, TOKEN } from './fake-telegram.ts'

const turn = writer('turn')

async function makeTelegram(
  kind: Kind = 'sqlite',
  settings: object = {},
  config: object = {},
  echo = true,
): Promise<Bench & { telegram: FakeTelegram }> {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const tg = {
    platform: 'telegram' as const,
    token_env: 'TG_TOKEN',
    access: 'open' as const,
    agent: 'greeter',
    api_root: telegram.url,
    ...settings,
  }
  const env = { TG_TOKEN: TOKEN, TG_SECRET: 'a-secret' }
  const bench = await makeBench(kind, {}, config, { only: { tg }, env, echo })
  return { ...bench, telegram }
}
const stateOf = async ({ store }: Bench) => (await store.channels.listConnections('org_1'))[0]

test.each(KINDS)(
  'on %s a person completes a conversation with a question, an approval and a stop',
  { timeout: 120_000 },
  async kind => {
    const disclosure = { level: 'basic', operator: 'Example Ltd' }
    const bench = await makeTelegram(kind, {}, { disclosure }, false)
    const { telegram, start } = bench
    await start()
    await holdConversation(bench, {
      say: async text => void telegram.say(text),
      press: async label => void telegram.press(label),
      async pressAsStranger(label) {
        telegram.press(label, BOB)
        await expect.poll(() => telegram.alerts).toEqual(['You are not allowed to decide this.'])
      },
      shown: async () => telegram.messages.map(({ text }) => text),
    })
    await expect.poll(async () => (await stateOf(bench))?.state).toBe('live')
    const commands = telegram.calls.find(({ method }) => method === 'setMyCommands')?.fields['commands']
    expect(commands).toContainEqual(expect.objectContaining({ command: 'stop' }))
  },
)

test('grammY’s own Bot works with the fake: updates, buttons, edits and a second poll', async () => {
  const telegram = await startFakeTelegram()
  onTestFinished(telegram.close)
  const bot = new Bot(TOKEN, { client: { apiRoot: telegram.url } })
  const heard: string[] = []
  bot.on('message:text', async ctx => {
    heard.push(ctx.message.text)
    const reply_markup = { inline_keyboard: [[{ text: 'Yes', callback_data: 'x:0' }]] }
    await ctx.reply('Sure?', { reply_markup })
  })
  bot.on('callback_query:data', async ctx => {
    heard.push(ctx.callbackQuery.data)
    await ctx.answerCallbackQuery({ text: 'noted' })
    await ctx.editMessageText('Done.')
  })
  const running = bot.start()
  telegram.say('hello')
  await expect.poll(() => telegram.messages).toHaveLength(1)
  telegram.press('Yes')
  await expect.poll(() => telegram.messages[0]).toMatchObject({ text: 'Done.', edits: 1 })
  expect({ heard, alerts: telegram.alerts }).toEqual({ heard: ['hello', 'x:0'], alerts: ['noted'] })
  const stopped = running.catch((error: { error_code?: number }) => error.error_code)
  await new Bot(TOKEN, { client: { apiRoot: telegram.url } }).api.getUpdates({ timeout: 0 })
  expect(await stopped).toBe(409)
})

test('an answer is shown while it is written, and the final answer replaces it', async () => {
  const bench = await makeTelegram('sqlite', {}, {}, false)
  const { store, telegram, start } = bench
  await start()
  telegram.say('tell me')
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const [session] = await sessionsOf(store)
  const at = { turn_id: 't', iteration_index: 0 }
  const delta = (data: { content: string } | { reasoning: string }) =>
    store.commit({ session_id: session!.id, events: [turn('llm.delta', { ...data, ...at })] })
  await delta({ reasoning: 'canary-reasoning' })
  await delta({ content: 'Once upon a time there was a ' })
  await expect.poll(() => telegram.messages.map(({ text }) => text)).toEqual(['Once upon a time there was a'])
  await delta({ content: 'cairn on a hill' })
  await expect.poll(() => telegram.messages[0]?.text).toBe('Once upon a time there was a cairn on a hill')
  await store.commit({ session_id: session!.id, events: [response('The **end**.')] })
  await expect.poll(() => telegram.messages[0]?.text).toBe('The **end**.')
  expect(telegram.messages).toHaveLength(1)
  expect(telegram.calls.map(({ method }) => method)).toContain('sendChatAction')
  expect(JSON.stringify(telegram.calls)).not.toContain('canary-reasoning')
  // The next answer is its own message.
  telegram.say('more')
  await store.commit({ session_id: session!.id, events: [response('And again.')] })
  await expect.poll(() => telegram.messages.map(({ text }) => text)).toEqual(['The **end**.', 'And again.'])
})

test('a file of a message is stored in the inbox folder of the workspace, under a safe name', async () => {
  const bench = await makeTelegram()
  const { store, telegram, start } = bench
  await start()
  telegram.files.set('f1', Buffer.from('hello'))
  const document = { file_id: 'f1', file_name: '../../etc/pass\u202ewd.txt', mime_type: 'text/plain' }
  telegram.say('', { caption: 'read this', document })
  await expect.poll(async () => (await sessionsOf(store)).length).toBe(1)
  const [session] = await sessionsOf(store)
  await expect.poll(async () => (await logOf(store, session!.id)).length).toBeGreaterThan(0)
  const [said] = await logOf(store, session!.id)
  expect(said?.data).toMatchObject({
    content: 'read this',
    attachments: [
      {
        path: expect.stringMatching(/^inbox\/\d+-passwd\.txt$/),
        filename: 'passwd.txt',
        mime_type: 'text/plain',
        size: 5,
      },
    ],
  })
})

test('in a group only messages for the bot are read, and an edit of the newest one is answered again', async () => {
  const bench = await makeTelegram()
  const { store, telegram, start } = bench
  await start()
  const inGroup = { chat: GROUP, from: BOB }
  telegram.say('just talking', inGroup)
  telegram.say('/stop@other_bot', inGroup)
  const mention = telegram.say('@cairn_bot what is new', inGroup)
  await expect.poll(() => telegram.messages.map(({ text }) => text)).toEqual(['echo: what is new'])
  telegram.edit(mention, '@cairn_bot what is old')
  await expect.poll(() => telegram.messages.at(-1)?.text).toBe('echo: (edited) what is old')
  const sessions = await sessionsOf(store)
  expect(sessions).toMatchObject([{ created_by_kind: 'service_account' }])
  const log = await logOf(store, sessions[0]!.id)
  const said = log.filter(({ type }) => type === 'user.message')
  expect(said.map(({ data }) => (data as { metadata?: unknown }).metadata)).toEqual([
    undefined,
    { edit_of: said[0]!.id },
  ])
})

test('a second poller is reported as a conflict with the fix, until it stops', async () => {
  const bench = await makeTelegram()
  const { telegram, start } = bench
  const refusal = { error_code: 409, description: 'Conflict: other getUpdates' }
  // More failures than the test needs to observe the state.
  telegram.fail('getUpdates', ...Array.from({ length: 1000 }, () => refusal))
  await start()
  await expect
    .poll(() => stateOf(bench))
    .toMatchObject({ state: 'conflict', last_error: expect.stringContaining('with the same token') })
  telegram.fail('getUpdates')
  telegram.say('hello')
  await expect.poll(() => telegram.messages.map(({ text }) => text)).toEqual(['echo: hello'])
  expect((await stateOf(bench))?.state).toBe('live')
})

test('a part with an unknown outcome is resent once and flagged, or is a failed delivery if so configured', async () => {
  for (const on_unknown of ['resend', 'hold'] as const) {
    const bench = await makeTelegram('sqlite', { on_unknown })
    const { store, telegram, start } = bench
    await start()
    telegram.fail('sendRichMessage', 'drop')
    telegram.say('hello')
    const { id } = (await stateOf(bench))!
    const state = on_unknown === 'resend' ? 'sent' : 'dead'
    await expect.poll(async () => (await store.channels.listDeliveries(id, state, 10)).length).toBe(1)
    const [delivery] = await store.channels.listDeliveries(id, state, 10)
    expect(delivery?.possible_duplicate).toBe(on_unknown === 'resend' ? 1 : 0)
    expect(telegram.messages).toHaveLength(on_unknown === 'resend' ? 2 : 1)
  }
})

test('a server that rejects rich messages or their format gets plain text', async () => {
  const bench = await makeTelegram()
  const { telegram, start } = bench
  await start()
  telegram.fail(
    'sendRichMessage',
    { error_code: 400, description: "Bad Request: can't parse entities" },
    { error_code: 404, description: 'Not Found' },
  )
  telegram.say('one')
  telegram.say('two')
  await expect
    .poll(() => telegram.messages.map(({ text, rich }) => [text, rich]))
    .toEqual([
      ['echo: one', false],
      ['echo: two', false],
    ])
})

test('a webhook is registered with its secret, and calls without it are rejected', async () => {
  const settings = {
    mode: 'webhook',
    public_url: 'https://cairn.example.org/',
    webhook_secret_env: 'TG_SECRET',
  }
  const bench = await makeTelegram('sqlite', settings)
  const { telegram, start } = bench
  const channels = await start()
  await expect.poll(() => telegram.webhook()).toMatchObject({ secret_token: 'a-secret' })
  const path = new URL(String(telegram.webhook()?.['url'])).pathname
  const call = (secret: string) =>
    channels.handle({
      method: 'POST',
      path,
      query: new URLSearchParams(),
      headers: new Headers({ 'x-telegram-bot-api-secret-token': secret }),
      raw: Buffer.from(JSON.stringify(telegram.say('hello'))),
      signal: new AbortController().signal,
      address: '192.0.2.1',
    })
  await expect(call('a-secreT')).rejects.toMatchObject({ code: 'bad_signature' })
  await expect(call('')).rejects.toMatchObject({ code: 'bad_signature' })
  expect((await call('a-secret')).status).toBe(200)
  await expect.poll(() => telegram.messages.map(({ text }) => text)).toEqual(['echo: hello'])
})
