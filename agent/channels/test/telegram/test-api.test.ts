/**
 * The Telegram channel on telegram-test-api, an independent server. It implements a Bot API without rich
 * messages, and lacks chat actions and long polls; a proxy answers those as such a server would.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { TelegramServer } from 'telegram-test-api/lib/telegramServer.js'
import { expect, onTestFinished, test } from 'vitest'
import { logOf, makeBench, sessionsOf } from '../bench.ts'
import { freePort } from '../email/judge-servers.ts'
import { holdConversation } from '../hold-conversation.ts'

const TOKEN = '666:AAcanary-of-a-token'
const SOON = { timeout: 15_000 }
/** Delay of the answer to a poll without updates. */
const POLL_MS = 20
type Json = Record<string, unknown>
// Its message types come from a package that it does not install.
type Kept = { text: string; reply_markup?: { inline_keyboard: { text: string; callback_data: string }[][] } }
type Sent = Kept & { messageId: number }

const refused = (error_code: number, description: string): Json => ({ ok: false, error_code, description })
/** The answer of the proxy; null: telegram-test-api answers. */
function answerFor(method: string, body: Json): Json | null {
  if (method === 'sendRichMessage') return refused(404, 'Not Found')
  if (method === 'editMessageText' && body['text'] === undefined)
    return refused(400, 'Bad Request: message text is empty')
  return ['sendChatAction', 'setMyCommands'].includes(method) ? { ok: true, result: true } : null
}

async function startTestApi() {
  const server = new TelegramServer({ host: '127.0.0.1', port: await freePort() })
  await server.start()
  onTestFinished(async () => void (await server.stop()))
  const front = createServer((req, res) => {
    void (async () => {
      const method = (req.url ?? '').split('/').at(-1) ?? ''
      const body = (req.method === 'POST' ? await json(req) : {}) as Json
      let answer = answerFor(method, body)
      if (answer === null) {
        const headers = { 'content-type': 'application/json' }
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        answer = (await (await fetch(`${server.config.apiURL}${req.url}`, init)).json()) as Json
      }
      const isIdle = method === 'getUpdates' && (answer['result'] as unknown[]).length === 0
      const write = (): void => {
        const status = answer['ok'] === true ? 200 : Number(answer['error_code'] ?? 500)
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      }
      if (isIdle) setTimeout(write, POLL_MS)
      else write()
    })().catch(() => res.destroy())
  })
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>(resolve => {
        front.close(() => resolve())
        front.closeAllConnections()
      }),
  )
  const clientOf = (userId: number, firstName: string) =>
    server.getClient(TOKEN, { userId, chatId: 7, firstName, type: 'private' })
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    ann: clientOf(7, 'Ann'),
    bob: clientOf(8, 'Bob'),
    /** The messages of the bot in the chat, in their current state. */
    sent: (): Sent[] =>
      server.storage.botMessages.map(({ message, messageId }) => ({ ...(message as Kept), messageId })),
  }
}

async function startTelegram({ echo }: { echo: boolean }) {
  const api = await startTestApi()
  const tg = {
    platform: 'telegram',
    token_env: 'TG_TOKEN',
    access: 'open',
    agent: 'greeter',
    api_root: api.url,
  } as const
  const disclosure = { level: 'basic', operator: 'Example Ltd' } as const
  const config = echo ? {} : { disclosure }
  const bench = await makeBench('sqlite', {}, config, { only: { tg }, env: { TG_TOKEN: TOKEN }, echo })
  await bench.start()
  const shown = async (): Promise<string[]> => api.sent().map(({ text }) => text)
  async function press(client: typeof api.ann, label: string): Promise<void> {
    const found = api
      .sent()
      .flatMap(({ reply_markup, messageId }) =>
        (reply_markup?.inline_keyboard ?? []).flat().map(button => ({ ...button, messageId })),
      )
      .findLast(({ text }) => text === label)
    if (found === undefined) throw new Error(`there is no ${label}`)
    const message = { message_id: found.messageId }
    await client.sendCallback(client.makeCallbackQuery(found.callback_data, { message }) as never)
  }
  const say = async (text: string): Promise<void> => {
    if (text.startsWith('/')) await api.ann.sendCommand(api.ann.makeCommand(text))
    else await api.ann.sendMessage(api.ann.makeMessage(text))
  }
  return { api, bench, shown, press, say }
}

/** Promise 15.3, 15.4: The Telegram adapter holds a conversation through a third-party Telegram server. */
test('on telegram-test-api a person completes a conversation with a question, an approval and a stop', async () => {
  const { api, bench, shown, press, say } = await startTelegram({ echo: false })
  await holdConversation(bench, {
    say,
    press: label => press(api.ann, label),
    pressAsStranger: label => press(api.bob, label),
    shown,
  })
  const card = (await shown()).find(text => text.includes('Approval needed'))
  expect(card).toMatch(/\n\nApproved by ann\.$/)
  const [connection] = await bench.store.channels.listConnections('org_1')
  expect(connection?.state).toBe('live')
})

test('its updates keep the sender, chat and order of the messages', async () => {
  const { api, bench, shown, say } = await startTelegram({ echo: true })
  for (const text of ['one', 'two', 'three']) await say(text)
  await expect.poll(shown, SOON).toEqual(['echo: one', 'echo: two', 'echo: three'])
  await api.bob.sendMessage(api.bob.makeMessage('from somebody else'))
  await expect.poll(shown, SOON).toHaveLength(4)
  const [session] = await sessionsOf(bench.store)
  const said = (await logOf(bench.store, session!.id)).filter(({ type }) => type === 'user.message')
  expect(
    said.map(({ data }) => (data as { source: { user_id: string; user_name: string } }).source),
  ).toMatchObject([
    ...Array.from({ length: 3 }, () => ({ chat_id: '7', chat_type: 'dm', user_id: '7', user_name: 'Ann' })),
    { chat_id: '7', user_id: '8', user_name: 'Bob' },
  ])
})
