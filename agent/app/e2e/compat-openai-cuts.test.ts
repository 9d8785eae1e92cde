/**
 * OpenAI's own client over streams that break at random bytes, with `starting_after`, before and after the
 * deltas are pruned: the texts that it holds in the end, and the response, are those of the log.
 * COMPAT_CUTS=1000 and COMPAT_SEED extend and repeat a run.
 */
import OpenAI from 'openai'
import { cuttingFetch } from '@cairn/compat/test/chat-client'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { CONFIG, SCENARIO } from './compat-scenario.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer, startService } from './server.ts'
import { PATIENCE_MS } from './session.ts'

const CUTS = Number(process.env['COMPAT_CUTS'] ?? 50)
const SEED = Number(process.env['COMPAT_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

type Event = OpenAI.Responses.ResponseStreamEvent
type Held = {
  id: string
  at: number
  texts: Map<string, string>
  last: OpenAI.Responses.Response | null
  added: string[]
}

/** A client's state of a stream: its position, the texts by item, and the final response. */
function take(held: Held, event: Event): void {
  expect(event.sequence_number).toBeGreaterThan(held.at)
  held.at = event.sequence_number
  if ('response' in event) {
    held.id = event.response.id
    held.last = event.response
  } else if (event.type === 'response.output_item.added') held.added.push(event.item.id ?? '')
  else if (event.type === 'response.output_text.delta')
    held.texts.set(event.item_id, (held.texts.get(event.item_id) ?? '') + event.delta)
  else if (event.type === 'response.output_text.done') {
    // The text so far is a beginning of the whole: nothing was lost in between, or repeated.
    const soFar = held.texts.get(event.item_id) ?? ''
    expect(event.text.startsWith(soFar)).toBe(true)
    held.texts.set(event.item_id, event.text)
  }
}

async function readAll(held: Held, events: AsyncIterable<Event>): Promise<boolean> {
  try {
    for await (const event of events) take(held, event)
    return held.last !== null && held.last.status !== 'in_progress'
  } catch (error) {
    if (
      error instanceof OpenAI.APIError ||
      error instanceof TypeError ||
      /terminated|network/.test(String(error))
    )
      return false
    throw error
  }
}

const newHeld = (): Held => ({ id: '', at: -1, texts: new Map(), last: null, added: [] })

/** Compares with the response as it is read back. */
function compare(held: Held, read: OpenAI.Responses.Response): void {
  expect(held.last).toEqual({ ...read, output_text: held.last?.output_text })
  expect(new Set(held.added).size).toBe(held.added.length)
  for (const item of read.output)
    if (item.type === 'message')
      expect(held.texts.get(item.id)).toBe(
        item.content.map(part => ('text' in part ? part.text : '')).join(''),
      )
}

/** Promise 4.24: A stream of OpenAI's client continues after its last position, and loses nothing. */
test(`${CUTS} random cuts lose and repeat nothing`, { timeout: PATIENCE_MS + CUTS * 5_000 }, async () => {
  console.log(`COMPAT_SEED=${SEED} COMPAT_CUTS=${CUTS}`)
  const random = seeded(SEED)
  // Deltas go soon after their response, so that many cursors are among pruned ones.
  const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { delta_keep_s: 0.2 } } })
  const { url } = await startService(place)
  const made = { cuts: 0 }
  const cut = cuttingFetch(() => {
    if (random() < 0.2) return null
    made.cuts++
    return Math.floor(random() ** 2 * 9_000)
  })
  const options = {
    apiKey: await localToken(place.dataDir),
    baseURL: `${url}/compat/openai/v1`,
    maxRetries: 0,
  }
  const whole = new OpenAI(options)
  const openai = new OpenAI({ ...options, fetch: cut })
  let responses = 0
  while (made.cuts < CUTS) {
    const held = newHeld()
    const input = ['plan it', 'run it', 'hello', 'paint it'][responses++ % 4] ?? ''
    const { id } = await whole.responses.create({ model: 'assistant', input, background: true })
    for (;;) {
      const after = held.at < 0 ? {} : { starting_after: held.at }
      const stream = await openai.responses.retrieve(id, { stream: true, ...after }).catch(() => null)
      if (stream !== null && (await readAll(held, stream))) break
    }
    compare(held, await whole.responses.retrieve(id))
  }
  console.log(`${made.cuts} cuts in ${responses} responses`)
})

const KILLS = Number(process.env['COMPAT_KILLS'] ?? 2)

test(
  `${KILLS} kills of the server lose and repeat nothing`,
  { timeout: PATIENCE_MS + KILLS * 60_000 },
  async () => {
    const random = seeded(SEED)
    const place = makePlace({ scenario: SCENARIO, config: { ...CONFIG, limits: { lease_s: 2 } } })
    let server = await startServer(place)
    const current: typeof fetch = (input, init) =>
      fetch(String(input).replace('http://server.test', server.url), init)
    const options = {
      apiKey: await localToken(place.dataDir),
      baseURL: 'http://server.test/compat/openai/v1',
    }
    const whole = new OpenAI({ ...options, fetch: current })
    const openai = new OpenAI({
      ...options,
      maxRetries: 0,
      fetch: cuttingFetch(() => Math.floor(random() * 4_000), current),
    })
    for (let kill = 0; kill < KILLS; kill++) {
      const held = newHeld()
      const { id } = await whole.responses.create({ model: 'assistant', input: 'plan it', background: true })
      const stream = await openai.responses.retrieve(id, { stream: true }).catch(() => null)
      if (stream !== null) await readAll(held, stream)
      await server.kill()
      server = await startServer(place)
      const after = held.at < 0 ? {} : { starting_after: held.at }
      const isOver = await readAll(held, await whole.responses.retrieve(id, { stream: true, ...after }))
      expect(isOver || held.last?.status === 'completed').toBe(true)
      compare(held, await whole.responses.retrieve(id))
    }
  },
)
