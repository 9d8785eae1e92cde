/**
 * Anthropic's own client over streams that break at random bytes: after each cut it continues by position, or
 * streams again and reads the list. What it holds in the end is the list of the session, nothing lost or
 * repeated. COMPAT_CUTS=1000 and COMPAT_SEED extend and repeat a run.
 */
import Anthropic from '@anthropic-ai/sdk'
import { Stream } from '@anthropic-ai/sdk/streaming'
import { cuttingFetch } from '@cairn/compat/test/chat-client'
import { expect, test, vi } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const CUTS = Number(process.env['COMPAT_CUTS'] ?? 50)
const SEED = Number(process.env['COMPAT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

type Sessions = Anthropic['beta']['sessions']
type Event = Anthropic.Beta.Sessions.BetaManagedAgentsStreamSessionEvents
type Listed = Anthropic.Beta.Sessions.BetaManagedAgentsSessionEvent
type Sent = Anthropic.Beta.Sessions.EventSendParams['events'][number]

const sessionsOf = (url: string, authToken: string, through: typeof fetch = fetch): Sessions =>
  new Anthropic({
    authToken,
    apiKey: null,
    baseURL: `${url}/compat/anthropic`,
    maxRetries: 0,
    fetch: through,
  }).beta.sessions

/**
 * A client's state: the events that it has by id, the texts that it was shown while they were written, and
 * its position in the stream. `repeated` counts events that a stream sent twice.
 */
class Held {
  readonly events = new Map<string, Listed>()
  readonly texts = new Map<string, string>()
  position: string
  repeated = 0
  constructor(position: string) {
    this.position = position
  }

  take(event: Event, { fromList = false } = {}): void {
    if (event.type === 'event_start') return void this.texts.set(event.event.id, '')
    if (event.type === 'event_delta') {
      const soFar = this.texts.get(event.event_id) ?? ''
      return void this.texts.set(event.event_id, soFar + event.delta.content.text)
    }
    const known = this.events.get(event.id)
    if (known !== undefined && !fromList) this.repeated++
    if (known !== undefined) expect(event).toEqual(known)
    this.events.set(event.id, event)
  }

  isIdle(turns: number): boolean {
    return [...this.events.values()].filter(({ type }) => type === 'session.status_idle').length === turns
  }
}

async function listAll(sessions: Sessions, id: string): Promise<Listed[]> {
  const events: Listed[] = []
  for await (const event of sessions.events.list(id, { limit: 7 })) events.push(event)
  return events
}

const isCut = (error: unknown): boolean =>
  error instanceof Anthropic.APIError ||
  error instanceof TypeError ||
  /terminated|network/.test(String(error))

/** Reads until `turns` turns are over or the stream is cut. */
async function readOn(sessions: Sessions, id: string, held: Held, turns: number): Promise<void> {
  try {
    const query = { 'event_deltas[]': 'agent.message', after: held.position }
    const response = await sessions.events.stream(id, {}, { query }).asResponse()
    for await (const { data, raw } of Stream.rawEvents(response)) {
      held.position =
        raw
          .find(line => line.startsWith('id:'))
          ?.slice('id:'.length)
          .trim() ?? held.position
      held.take(JSON.parse(data) as Event)
      if (held.isIdle(turns)) return
    }
  } catch (error) {
    if (!isCut(error)) throw error
  }
}

/** The guide of the API says so: open the stream, then read the list, and skip events that the stream sent. */
async function readAgain(
  cut: Sessions,
  whole: Sessions,
  id: string,
  held: Held,
  turns: number,
): Promise<void> {
  try {
    const stream = await cut.events.stream(id)
    for (const event of await listAll(whole, id)) held.take(event, { fromList: true })
    if (held.isIdle(turns)) return stream.controller.abort()
    for await (const event of stream) {
      held.take(event, { fromList: true })
      if (held.isIdle(turns)) return
    }
  } catch (error) {
    if (!isCut(error)) throw error
  }
}

const text = (content: string): Sent => ({ type: 'user.message', content: [{ type: 'text', text: content }] })

/** Returns the events that answer what the session waits for; null if it waits for nothing. */
function reply(held: Held, allow: boolean): Sent | null {
  const last = [...held.events.values()].findLast(event => event.type === 'session.status_idle')
  const [open] = last?.stop_reason.type === 'requires_action' ? last.stop_reason.event_ids : []
  if (open === undefined) return null
  return held.events.get(open)?.type === 'agent.tool_use'
    ? { type: 'user.tool_confirmation', tool_use_id: open, result: allow ? 'allow' : 'deny' }
    : { type: 'user.custom_tool_result', custom_tool_use_id: open, content: [{ type: 'text', text: 'red' }] }
}

async function settle(whole: Sessions, id: string): Promise<Listed[]> {
  await vi.waitFor(async () => expect((await whole.retrieve(id)).status).toBe('idle'), {
    timeout: PATIENCE_MS,
  })
  return (await listAll(whole, id)).filter(({ type }) => type !== 'session.updated')
}

const TEXTS = ['plan it', 'run it', 'paint it', 'hello']
const session = { agent: 'agent_assistant', environment_id: 'env_default' }

/** Promise 4.24: A client of Claude Managed Agents whose streams break at random holds what the log says. */
test(`${CUTS} random cuts lose and repeat nothing`, { timeout: PATIENCE_MS + CUTS * 5_000 }, async () => {
  console.log(`COMPAT_SEED=${SEED} COMPAT_CUTS=${CUTS}`)
  const random = seeded(SEED)
  // Deltas go soon after their response, so that many positions are among pruned ones.
  const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { delta_keep_s: 0.2 } } })
  const { url } = await startService(place)
  const token = await localToken(place.dataDir)
  const made = { cuts: 0 }
  const cut = cuttingFetch(() => {
    if (random() < 0.2) return null
    made.cuts++
    return Math.floor(random() ** 2 * 6_000)
  })
  const whole = sessionsOf(url, token)
  const broken = sessionsOf(url, token, cut)
  let sessions = 0
  while (made.cuts < CUTS) {
    const byPosition = sessions % 2 === 0
    const { id } = await whole.create(session)
    const held = new Held('0')
    let next: Sent | null = text(TEXTS[sessions++ % TEXTS.length] ?? '')
    for (let turns = 1; next !== null; turns++) {
      await whole.events.send(id, { events: [next] })
      while (!held.isIdle(turns))
        await (byPosition ? readOn(broken, id, held, turns) : readAgain(broken, whole, id, held, turns))
      next = reply(held, random() < 0.5)
    }
    const listed = await settle(whole, id)
    const events = [...held.events.values()].filter(({ type }) => type !== 'session.updated')
    expect([events, held.repeated]).toEqual([listed, 0])
    for (const event of listed)
      if (byPosition && event.type === 'agent.message')
        expect([{ type: 'text', text: held.texts.get(event.id) }]).toEqual(event.content)
  }
  console.log(`${made.cuts} cuts in ${sessions} sessions`)
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
    const current: typeof fetch = (input, init) =>
      fetch(String(input).replace('http://server.test', server.url), init)
    const whole = sessionsOf('http://server.test', token, current)
    const cut = cuttingFetch(() => Math.floor(random() * 3_000), current)
    const broken = sessionsOf('http://server.test', token, cut)
    for (let kill = 0; kill < KILLS; kill++) {
      const { id } = await whole.create(session)
      const held = new Held('0')
      await whole.events.send(id, { events: [text('plan it')] })
      await readOn(broken, id, held, 1)
      await server.kill()
      server = await startServer(place)
      while (!held.isIdle(1)) await readOn(whole, id, held, 1)
      const listed = await settle(whole, id)
      const events = [...held.events.values()].filter(({ type }) => type !== 'session.updated')
      expect([events, held.repeated]).toEqual([listed, 0])
    }
  },
)
