/**
 * Frames that break RFC 6455 on an open live view: the server closes that view with the close code of the
 * violation, and answers other clients as before (contract 11.12).
 */
import { afterAll, beforeEach, expect, test } from 'vitest'
import { tally } from '@cairn/protocol/test/attacks'
import {
  arrived,
  closeCodeIn,
  closeFrame,
  fakeBrowsers,
  frame,
  openLiveView,
  ticketOf,
} from '../live-views.ts'
import { startService } from '../service.ts'

const browsers = fakeBrowsers()
const service = await startService({ browsers: () => browsers })
afterAll(() => service[Symbol.asyncDispose]())
const session = await service.newSession()
browsers.sessions.add(session)

const uncaught: unknown[] = []
const watch = (error: unknown): void => void uncaught.push(error)
process.on('uncaughtExceptionMonitor', watch)
beforeEach(() => void uncaught.splice(0))
afterAll(() => void process.off('uncaughtExceptionMonitor', watch))

const MALFORMED: Record<string, readonly [bytes: Buffer, closeCode: number]> = {
  'a message over the size limit': [frame('x'.repeat((1 << 20) + 1)), 1009],
  'a frame without a mask': [frame('x', { masked: false }), 1002],
  'text that is not UTF-8': [frame(Buffer.from([0xc3, 0x28])), 1007],
  'a reserved bit': [frame('x', { rsv: 2 }), 1002],
  'a reserved opcode': [frame('x', { opcode: 3 }), 1002],
  'a control frame of 126 bytes': [frame('x'.repeat(126), { opcode: 9 }), 1002],
  'an invalid close code': [closeFrame(1005), 1002],
}

/** Promise 11.12: A malformed WebSocket frame closes only its own live view. */
test.each(Object.entries(MALFORMED))(
  '%s closes the live view and nothing else',
  async (_what, [bytes, code]) => {
    const view = await openLiveView(service, session)
    view.socket.write(bytes)
    await arrived(view, received => closeCodeIn(received) !== null)
    view.socket.destroy()
    const startedAt = performance.now()
    const { status } = await service.call('/healthz')
    const tookMs = performance.now() - startedAt
    tally('malformed WebSocket frames', 1, uncaught.length > 0 || status !== 200 || tookMs > 1000 ? 1 : 0)
    expect(uncaught).toEqual([])
    expect(closeCodeIn(view.received())).toBe(code)
    expect(status).toBe(200)
    expect(tookMs).toBeLessThan(1000)
  },
)

test('a session without a browser gets no live view ticket', async () => {
  const without = await service.newSession()
  const path = `/v1/sessions/${without}/browser/live-ticket`
  expect(await service.call(path, { method: 'POST' })).toMatchObject({
    status: 404,
    json: { code: 'no_browser' },
  })
  await expect(ticketOf(service, session)).resolves.toMatch(/^[\w-]{43}$/)
})

test('a process without browsers issues no live view ticket', async () => {
  await using other = await startService()
  const path = `/v1/sessions/${await other.newSession()}/browser/live-ticket`
  expect(await other.call(path, { method: 'POST' })).toMatchObject({
    status: 503,
    json: { code: 'browser_unavailable' },
  })
})
