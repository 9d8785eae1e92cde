/**
 * Connections of every kind that the service accepts, broken in every way that HTTP and RFC 6455 allow, and
 * at random. Meanwhile other clients get answers within a second, their streams deliver, and the process sees
 * no uncaught error (contract 11.12).
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import { BROKEN_FRAMES, BROKEN_REQUESTS, randomBreak, type Sent } from '../broken-bytes.ts'
import { fakeBrowsers, openLiveView, openRaw, ticketOf, upgradeRequest } from '../live-views.ts'
import { startService } from '../service.ts'
import { openStream } from '../stream.ts'

const ATTEMPTS = rounds(160, 2_000)
const AT_ONCE = 4
const MAX_WAIT_MS = 1_000
/** Each takes two descriptors of this process. */
const MAX_KEPT = 200

const browsers = fakeBrowsers()
const service = await startService({
  browsers: () => browsers,
  config: { limits: { requests_per_minute: 1_000_000, streams_per_principal: 10_000 } },
  tuning: { headersMs: 2_000, requestMs: 4_000, lookMs: 100, idleMs: 2_000, pingMs: 3_600_000 },
})
afterAll(() => service[Symbol.asyncDispose]())
const session = await service.newSession()
browsers.sessions.add(session)
const context = { session, token: service.adminToken }

/** Reproducible: the number of the attempt determines everything about it. */
function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** Connections that the client keeps open, oldest first: the server may end them, or wait for more. */
const kept: Socket[] = []

/** Sends the bytes on a new connection and ends it as the attempt specifies. */
async function attack({ bytes, after }: Sent, onView: boolean): Promise<void> {
  const { socket, closed } = onView ? await openLiveView(service, session) : await openRaw(service.port)
  await new Promise<void>(resolve => socket.write(bytes, () => resolve()))
  if (after === 'keep' || after === 'end') {
    if (after === 'end') socket.end()
    kept.push(socket)
    if (kept.length > MAX_KEPT) kept.shift()?.destroy()
    return
  }
  if (after === 'reset') socket.resetAndDestroy()
  else socket.destroy()
  await closed
}

async function attempt(nth: number): Promise<void> {
  const random = randomOf(nth)
  const kinds = nth % 4
  if (kinds === 0) {
    const frames = Object.values(BROKEN_FRAMES)
    return attack(frames[Math.floor(nth / 4) % frames.length] as Sent, true)
  }
  if (kinds === 1) {
    const requests = BROKEN_REQUESTS(context)
    return attack(requests[Math.floor(nth / 4) % requests.length] as Sent, false)
  }
  if (kinds === 2) return attack(randomBreak(random, context), false)
  // A truncated upgrade, or one followed by bytes at once, with a valid ticket.
  const upgrade = upgradeRequest(session, await ticketOf(service, session))
  const frames = Object.values(BROKEN_FRAMES)
  const broken = frames[Math.floor(random() * frames.length)] as Sent
  const cut = random() < 0.5 ? upgrade.slice(0, Math.floor(random() * upgrade.length)) : upgrade
  return attack({ bytes: Buffer.concat([Buffer.from(cut), broken.bytes]), after: broken.after }, false)
}

const connections = (): Promise<number> =>
  new Promise((resolve, reject) =>
    service.api.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

/** Promise 11.12: Broken connections delay other requests by less than a second. */
test(
  'broken connections do not delay other requests by more than a second',
  { timeout: rounds(60_000, 600_000) },
  async () => {
    const uncaught: unknown[] = []
    const watch = (error: unknown): void => void uncaught.push(error)
    process.on('uncaughtExceptionMonitor', watch)
    const stream = await openStream(service, `/v1/sessions/${session}/events`)
    const view = await openLiveView(service, session)
    const failed: string[] = []
    let answered = 0
    /** Milliseconds of the slowest answer until `isOver`. */
    async function useService(isOver: () => boolean): Promise<number> {
      let slowest = 0
      for (
        const paths = ['/healthz', '/v1/sessions?limit=1', `/v1/sessions/${session}`];
        !isOver();
        answered += 1
      ) {
        const path = paths[answered % paths.length] as string
        const startedAt = performance.now()
        const { status } = await service.call(path)
        slowest = Math.max(slowest, performance.now() - startedAt)
        if (status !== 200) failed.push(`${path}: ${status}`)
      }
      return slowest
    }
    // On a busy machine answers take longer even without an attack.
    const quiet = await useService(() => answered === 30)
    const maxWaitMs = MAX_WAIT_MS + 3 * quiet
    let isOver = false
    let next = 0
    async function breakConnections(): Promise<void> {
      for (let nth = next++; nth < ATTEMPTS; nth = next++) await attempt(nth)
    }
    const using = useService(() => isOver)
    await Promise.all(Array.from({ length: AT_ONCE }, breakConnections)).finally(() => (isOver = true))
    const slowest = await using
    await service.say(session, 'still there')
    await stream.until(({ text }) => text().includes('still there'))
    expect(view.socket.destroyed).toBe(false)
    for (const socket of [...kept.splice(0), view.socket]) socket.destroy()
    stream.close()
    // No broken connection keeps a descriptor; what remains are the connections of `fetch`.
    await expect.poll(connections).toBeLessThanOrEqual(AT_ONCE + 1)
    process.off('uncaughtExceptionMonitor', watch)
    const errors = service.logged.filter(({ level }) => level === 'error')
    const unexpected = uncaught.length + failed.length + errors.length + (slowest > maxWaitMs ? 1 : 0)
    tally('broken connections', ATTEMPTS, unexpected)
    console.log(
      `${ATTEMPTS} broken connections: ${answered} answers to others, slowest ${Math.round(slowest)} ms ` +
        `(${Math.round(quiet)} ms without), ` +
        `${uncaught.length} uncaught errors`,
    )
    expect({ uncaught, failed, errors }).toEqual({ uncaught: [], failed: [], errors: [] })
    expect(slowest).toBeLessThan(maxWaitMs)
  },
)

test('a rejected upgrade is closed even if its client keeps its half of the connection open', async () => {
  const before = await connections()
  const { socket, received } = await openRaw(service.port, { allowHalfOpen: true })
  socket.write(upgradeRequest(session, 'spent'))
  await once(socket, 'end')
  expect(received().toString()).toMatch(/^HTTP\/1.1 401 /)
  await expect.poll(connections).toBeLessThanOrEqual(before)
  expect(socket.writable).toBe(true)
  socket.destroy()
})
