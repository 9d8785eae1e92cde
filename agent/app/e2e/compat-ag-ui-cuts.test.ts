/**
 * AG-UI's own client over runs that break at random bytes. It has no way to continue, so it runs again with
 * the same ids; its verifier accepts every run, and what it holds in the end is what the service stores.
 * COMPAT_CUTS=1000 and COMPAT_SEED extend and repeat a run.
 */
import { randomUUID } from 'node:crypto'
import { HttpAgent, type Message, type ResumeEntry } from '@ag-ui/client'
import { cuttingFetch } from '@cairn/compat/test/chat-client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS, readLog } from './session.ts'

const CUTS = Number(process.env['COMPAT_CUTS'] ?? 50)
const SEED = Number(process.env['COMPAT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

type Run = { runId: string; resume?: ResumeEntry[] }

const openAgent = (url: string, token: string, through: typeof fetch): HttpAgent =>
  new HttpAgent({
    url: `${url}/compat/ag-ui/assistant`,
    headers: { authorization: `Bearer ${token}` },
    threadId: randomUUID(),
    fetch: through,
  })

/** A body that ends within an event is not valid JSON to the client. */
const isCut = (error: unknown): boolean =>
  error instanceof SyntaxError || /network|terminated|fetch failed/.test(String(error))

/** Runs until the run has ended; the client forgets the interrupts of a run only when the next one ends. */
async function untilOver(agent: HttpAgent, run: Run): Promise<void> {
  for (;;) {
    let isOver = false
    const onEnd = (): void => {
      isOver = true
    }
    try {
      await agent.runAgent(run, { onRunFinishedEvent: onEnd, onRunErrorEvent: onEnd })
    } catch (error) {
      if (!isCut(error)) throw error
    }
    if (isOver) return
  }
}

/** A person's part: approves, rejects or answers what is open, until nothing is. */
async function converse(agent: HttpAgent, say: string, approved: boolean): Promise<void> {
  agent.addMessage({ id: randomUUID(), role: 'user', content: say })
  await untilOver(agent, { runId: randomUUID() })
  for (let [open] = agent.pendingInterrupts; open !== undefined; [open] = agent.pendingInterrupts) {
    const responses = [{ question: 'Which colour?', answer: 'red' }]
    const payload = open.reason === 'tool_call' ? { approved } : { responses }
    await untilOver(agent, {
      runId: randomUUID(),
      resume: [{ interruptId: open.id, status: 'resolved', payload }],
    })
  }
}

async function stored(url: string, token: string, { threadId }: HttpAgent): Promise<Message[]> {
  const response = await fetch(`${url}/compat/ag-ui/assistant/threads/${threadId}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return ((await response.json()) as { messages: Message[] }).messages
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
const TEXTS = ['plan it', 'run it', 'paint it', 'hello']
const ENDS = ['Planned, in words.', /It said|Then I leave it/, 'Red it is.', 'Hello there.']

/** Promise 4.24: A client of AG-UI whose runs break at random holds what the log says. */
test(`${CUTS} random cuts lose and repeat nothing`, { timeout: PATIENCE_MS + CUTS * 5_000 }, async () => {
  console.log(`COMPAT_SEED=${SEED} COMPAT_CUTS=${CUTS}`)
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const random = seeded(SEED)
  const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { delta_keep_s: 0.2 } } })
  const { url, client } = await startService(place)
  const token = await localToken(place.dataDir)
  const made = { cuts: 0 }
  let threads = 0
  while (made.cuts < CUTS) {
    const nextCut = (): number | null => {
      if (random() < 0.25) return null
      made.cuts++
      return Math.floor(random() ** 2 * 6_000)
    }
    // After an error of the socket, the client leaves a rejected promise that nothing handles.
    const cut = cuttingFetch(nextCut, fetch, { ends: true })
    const agent = openAgent(url, token, cut)
    const at = threads++ % TEXTS.length
    await converse(agent, TEXTS[at] ?? '', random() < 0.5)
    // A second exchange, so that runs begin with a history.
    await converse(agent, 'plan it', true)
    const texts = agent.messages.map(({ content }) => String(content)).join('\n')
    expect(texts).toMatch(ENDS[at] ?? '')
    expect(plain(agent.messages)).toEqual(await stored(url, token, agent))
    const { sessions } = await client.call('listSessions', { query: { limit: '1' } })
    const log = await readLog(client, sessions[0]?.id ?? '')
    const said = log.filter(event => event.type === 'user.message' && event.data.synthetic === undefined)
    expect(said).toHaveLength(2)
  }
  console.log(`${made.cuts} cuts in ${threads} threads`)
})

const KILLS = Number(process.env['COMPAT_KILLS'] ?? 2)

test(
  `${KILLS} kills of the server lose and repeat nothing`,
  { timeout: PATIENCE_MS + KILLS * 60_000 },
  async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const random = seeded(SEED)
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    let server = await startServer(place)
    const token = await localToken(place.dataDir)
    const current: typeof fetch = (input, init) =>
      fetch(String(input).replace('http://server.test', server.url), init)
    for (let kill = 0; kill < KILLS; kill++) {
      const next = { cut: true }
      const nextCut = (): number | null => (next.cut ? Math.floor(random() * 3_000) : null)
      const through = cuttingFetch(nextCut, current, { ends: true })
      const agent = openAgent('http://server.test', token, through)
      agent.addMessage({ id: randomUUID(), role: 'user', content: 'plan it' })
      const run = { runId: randomUUID() }
      const first = agent.runAgent(run).catch((error: unknown) => {
        if (!isCut(error)) throw error
      })
      await first
      await server.kill()
      server = await startServer(place)
      next.cut = false
      await untilOver(agent, run)
      expect(plain(agent.messages)).toEqual(await stored(server.url, token, agent))
      expect(agent.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    }
  },
)
