/**
 * The AI SDK's own client over connections that break at random bytes, and a server that is killed: what the
 * client holds in the end is what the log says. COMPAT_CUTS=1000 and COMPAT_SEED extend and repeat a run.
 */
import { randomUUID } from 'node:crypto'
import { type ChatClient, cuttingFetch, openChat, plain } from '@cairn/compat/test/chat-client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const CUTS = Number(process.env['COMPAT_CUTS'] ?? 50)
const SEED = Number(process.env['COMPAT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

type Tool = { state: string; toolCallId: string; approval?: { id: string } }
const openTool = (chat: ChatClient, state: string): Tool | undefined =>
  chat.messages
    .flatMap(({ parts }) => parts as unknown as (Tool & { type: string; providerExecuted?: boolean })[])
    .find(
      part =>
        part.type === 'dynamic-tool' &&
        part.state === state &&
        (state !== 'input-available' || part.providerExecuted !== true),
    )

/** Lets the client reconnect until nothing of its answer is missing. */
async function settle(chat: ChatClient): Promise<void> {
  for (;;) {
    await vi.waitFor(() => expect(['ready', 'error']).toContain(chat.status), {
      timeout: PATIENCE_MS,
      interval: 5,
    })
    if (chat.status === 'ready') return
    await chat.resumeStream()
  }
}

/** A person's part of the conversation: approves, rejects or answers what is open, until nothing is. */
async function finish(chat: ChatClient, approved: boolean): Promise<void> {
  for (;;) {
    await settle(chat)
    const gate = openTool(chat, 'approval-requested')
    const question = openTool(chat, 'input-available')
    if (gate?.approval !== undefined) await chat.addToolApprovalResponse({ id: gate.approval.id, approved })
    else if (question !== undefined)
      await chat.addToolOutput({ tool: 'ask_user_question', toolCallId: question.toolCallId, output: 'red' })
    else return
    await vi.waitFor(() =>
      expect(openTool(chat, gate === undefined ? 'input-available' : 'approval-requested')).toBeUndefined(),
    )
  }
}

const TEXTS = ['plan it', 'run it', 'paint it', 'hello']
const ENDS = ['Planned, in words.', /It said|Then I leave it/, 'Red it is.', 'Hello there.']

async function stored(url: string, token: string, id: string): Promise<unknown> {
  const response = await fetch(`${url}/compat/ai-sdk/chat/${id}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return ((await response.json()) as { messages: unknown }).messages
}

/** Promise 4.24: A chat of the AI SDK whose connections break at random holds what the log says. */
test(`${CUTS} random cuts lose and repeat nothing`, { timeout: PATIENCE_MS + CUTS * 5_000 }, async () => {
  console.log(`COMPAT_SEED=${SEED} COMPAT_CUTS=${CUTS}`)
  const random = seeded(SEED)
  const place = makePlace({ scenario: SCENARIO, config: CONFIG })
  const { url, client } = await startService(place)
  const token = await localToken(place.dataDir)
  const made = { cuts: 0 }
  let chats = 0
  while (made.cuts < CUTS) {
    const at = chats++ % TEXTS.length
    const cut = cuttingFetch(() => {
      if (random() < 0.25) return null
      made.cuts++
      return Math.floor(random() ** 2 * 6_000)
    })
    const chat = openChat({ url, token, id: randomUUID(), fetch: cut })
    await chat.sendMessage({ text: TEXTS[at] ?? '' })
    await finish(chat, random() < 0.5)
    const texts = chat.messages
      .flatMap(({ parts }) => parts)
      .flatMap(part => (part.type === 'text' ? [part.text] : []))
    expect(texts.join('\n')).toMatch(ENDS[at] ?? '')
    expect(plain(chat.messages)).toEqual(await stored(url, token, chat.id))
    const { session_id = '' } = (chat.messages.at(-1)?.metadata ?? {}) as { session_id?: string }
    const said = (await readLog(client, session_id)).filter(
      event => event.type === 'user.message' && event.data.synthetic === undefined,
    )
    expect(said).toHaveLength(1)
  }
  console.log(`${made.cuts} cuts in ${chats} chats`)
})

const KILLS = Number(process.env['COMPAT_KILLS'] ?? 2)

test(
  `${KILLS} kills of the server lose and repeat nothing`,
  { timeout: PATIENCE_MS + KILLS * 60_000 },
  async () => {
    const random = seeded(SEED)
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    let server = await startServer(place)
    const token = await localToken(place.dataDir)
    const current: typeof fetch = async (input, init) =>
      fetch(String(input).replace('http://server.test', server.url), init)
    for (let kill = 0; kill < KILLS; kill++) {
      const at = kill % TEXTS.length
      const cut = cuttingFetch(() => Math.floor(random() * 3_000), current)
      const chat = openChat({ url: 'http://server.test', token, id: randomUUID(), fetch: cut })
      await chat.sendMessage({ text: TEXTS[at] ?? '' })
      await server.kill()
      server = await startServer(place)
      await finish(chat, random() < 0.5)
      expect(plain(chat.messages)).toEqual(await stored(server.url, token, chat.id))
      expect(chat.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    }
  },
)
