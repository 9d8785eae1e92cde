/** Contract 11: `after` loses no event and repeats none on any network between the server and its readers. */
import { readFileSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { createClient } from '@cairn/client'
import { expect, onTestFinished, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { startHostileProxy } from './hostile-proxy.ts'
import { seeded } from './seeded.ts'
import { makePlace, startServer } from './server.ts'
import { newSession, PATIENCE_MS, readLog } from './session.ts'

const SEED = Number(process.env['NETWORK_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const READERS = 4
const MESSAGES = 120

/** Promise 3: Readers behind any network lose no event and receive none twice. */
test(
  'readers behind a network that cuts, stalls and buffers lose no event and receive none twice',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    console.log(`NETWORK_SEED=${SEED}`)
    const random = seeded(SEED)
    const place = makePlace({
      scenario: {
        rules: [
          {
            answer: {
              text: 'Yes, and this is a long enough answer to be cut in the middle of itself, zwölf 日本語 🚀.',
            },
          },
        ],
      },
    })
    const server = await startServer(place)
    const id = await newSession(server.client)
    await using proxy = await startHostileProxy(server.url, random)
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const client = createClient({
      baseUrl: proxy.url,
      token: () => localToken(place.dataDir),
      idleMs: 400,
      backoff: { baseMs: 1, maxMs: 20 },
      random,
    })
    const seen = Array.from({ length: READERS }, () => [] as string[])
    const caught = Array.from({ length: READERS }, () => ({ last: 0 }))
    const reading = seen.map(async (records, at) => {
      for await (const batch of client.events(id, { signal: stop.signal })) {
        for (const event of batch) records.push(JSON.stringify(event))
        const mine = caught[at]
        if (mine) mine.last = batch.at(-1)?.id ?? mine.last
      }
    })
    for (let n = 0; n < MESSAGES; n++)
      await server.client.call('sendMessage', {
        params: { id },
        body: { content: `message ${n} ${'é'.repeat(Math.floor(random() * 400))}` },
      })
    const deadline = Date.now() + PATIENCE_MS
    // The session is idle, and every reader has all events.
    for (;;) {
      const { status, last_event_id } = await server.client.call('getSession', { params: { id } })
      if (status === 'completed' && caught.every(({ last }) => last === last_event_id)) break
      if (Date.now() > deadline)
        throw new Error(
          `after ${PATIENCE_MS / 1000} s the session is ${status} at ${last_event_id}; readers are at ` +
            `${caught.map(({ last }) => last).join(', ')}`,
        )
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    stop.abort()
    await Promise.all(reading)
    const log = (await readLog(server.client, id)).map(event => JSON.stringify(event))
    expect(log.length).toBeGreaterThan(MESSAGES)
    for (const records of seen) expect(records).toEqual(log)
    console.log(
      `${READERS} readers of ${log.length} events over ${proxy.connections} connections: ${Object.entries(
        proxy.troubles,
      )
        .map(([kind, times]) => `${times} ${kind}`)
        .join(', ')}`,
    )
    expect(proxy.connections).toBeGreaterThan(READERS * 4)
    expect(Object.values(proxy.troubles).every(times => times > 0)).toBe(true)
  },
)

/**
 * A process's memory varies for other reasons too, but the cost of the readers occurs in every measurement.
 */
const MEASUREMENTS = 3
const MUTE = 20
const FLOOD = 40
const FLOOD_BYTES = 500_000

/** Resident memory of a process in bytes. */
const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

/** Promise 3: Readers that never read use little memory and are disconnected. */
test(
  'readers that never read cost the server little memory and are disconnected',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const place = makePlace({ scenario: { rules: [{ answer: { text: 'ok' } }] } })
    const server = await startServer(place)
    const token = await localToken(place.dataDir)
    const { hostname, port } = new URL(server.url)
    const streams = async (): Promise<string> =>
      /cairn_open_streams (\d+)/.exec(await (await fetch(`${server.url}/metrics`)).text())?.[1] ?? ''
    const mute: Socket[] = []
    onTestFinished(() => mute.forEach(socket => void socket.destroy()))
    /**
     * Floods a paused session, which stores messages but runs no turn. Resolves with the memory growth in
     * bytes.
     */
    const flood = async (readers: number): Promise<number> => {
      for (const socket of mute.splice(0)) socket.destroy()
      await expect.poll(streams, { timeout: PATIENCE_MS }).toBe('0')
      const id = await newSession(server.client)
      await server.client.call('pauseSession', { params: { id } })
      for (let n = 0; n < readers; n++) {
        const socket = connect(Number(port), hostname)
        mute.push(socket)
        socket.on('error', () => {})
        socket.pause()
        socket.write(
          `GET /v1/sessions/${id}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`,
        )
      }
      await expect.poll(streams, { timeout: PATIENCE_MS }).toBe(String(readers))
      const before = residentOf(server.pid)
      for (let n = 0; n < FLOOD; n++)
        await server.client.call('sendMessage', {
          params: { id },
          body: { content: 'x'.repeat(FLOOD_BYTES) },
        })
      expect(await readLog(server.client, id)).toHaveLength(FLOOD + 1)
      return residentOf(server.pid) - before
    }
    const alone = await flood(0)
    const costs: number[] = []
    // A third of the bytes due to all readers together. A connection may buffer one mebibyte.
    const bound = (MUTE * FLOOD * FLOOD_BYTES) / 3
    while (costs.length < MEASUREMENTS && !costs.some(cost => cost < bound)) {
      const withReaders = await flood(MUTE)
      console.log(
        `${MUTE} readers took none of the ${(FLOOD * FLOOD_BYTES) / 1e6} MB each was due: the server ` +
          `grew by ${Math.round(withReaders / 1e6)} MB, without them by ${Math.round(alone / 1e6)} MB`,
      )
      costs.push(withReaders - Math.max(0, alone))
    }
    expect(Math.min(...costs)).toBeLessThan(bound)
    // The readers have read nothing for longer than the server's timeout.
    await expect.poll(streams, { timeout: PATIENCE_MS, interval: 200 }).toBe('0')
  },
)
