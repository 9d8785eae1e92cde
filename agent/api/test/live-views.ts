/** Live views for tests: a service whose sessions have fake browsers without Chromium, and raw WebSockets. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AppError } from '@cairn/protocol'
import type { LiveBrowsers } from '../src/live-browsers.ts'
import type { Service } from './service.ts'

export type FakeBrowsers = LiveBrowsers & {
  /** Sessions that have a browser. */
  sessions: Set<string>
  /** The user who controls the browser of each session. */
  holders: Map<string, string>
  /** The texts that the live views received. */
  received: string[]
}

const absent = (): Promise<never> => Promise.reject(new Error('The fake browser has no such method.'))

export function fakeBrowsers(): FakeBrowsers {
  const sessions = new Set<string>()
  const holders = new Map<string, string>()
  const received: string[] = []
  const find = (session_id: string): Promise<void> =>
    sessions.has(session_id)
      ? Promise.resolve()
      : Promise.reject(new AppError('no_browser', `Session ${session_id} has no browser.`))
  return {
    sessions,
    holders,
    received,
    find,
    view: absent,
    destroy: absent,
    picture: absent,
    async acquire(session_id, person) {
      await find(session_id)
      holders.set(session_id, person.id)
      return { outcome: 'granted', control_until: null }
    },
    async release(session_id, person) {
      await find(session_id)
      if (holders.get(session_id) !== person.id && !person.admin)
        throw new AppError('no_control', 'You do not control this browser.')
      holders.delete(session_id)
      return { outcome: 'released', control_until: null }
    },
    async attach(session_id, socket) {
      await find(session_id)
      socket.onMessage(text => received.push(text))
      socket.send('attached')
    },
  }
}

export async function ticketOf(service: Service, session_id: string, token?: string): Promise<string> {
  const path = `/v1/sessions/${session_id}/browser/live-ticket`
  const { status, json, text } = await service.call(path, { method: 'POST', ...(token && { token }) })
  if (status !== 200) throw new Error(`the ticket answered ${status}: ${text}`)
  return json.ticket
}

export const upgradeRequest = (session_id: string, ticket: string, headers = ''): string =>
  `GET /v1/sessions/${session_id}/browser/live?ticket=${ticket} HTTP/1.1\r\nHost: x\r\n` +
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`

/** A TCP connection with the bytes received so far. */
export type RawConnection = { socket: Socket; received(): Buffer; closed: Promise<unknown> }

export async function openRaw(port: number, { allowHalfOpen = false } = {}): Promise<RawConnection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen })
  // Joined on request: an answer of megabytes comes in many chunks.
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  // The server may reset a connection that broke the protocol.
  socket.on('error', () => {})
  const closed = new Promise(resolve => socket.once('close', resolve))
  await Promise.race([once(socket, 'connect'), closed])
  return { socket, received: () => Buffer.concat(chunks), closed }
}

/** Resolves when `isThere` accepts the received bytes; rejects if the connection closes before. */
export const arrived = (raw: RawConnection, isThere: (bytes: Buffer) => boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    const look = (): void => void (isThere(raw.received()) && resolve())
    raw.socket.on('data', look)
    raw.closed
      .then(() => reject(new Error(`closed after: ${raw.received().toString('latin1')}`)))
      .catch(reject)
    look()
  })

/** An open live view with a browser behind it. */
export async function openLiveView(
  service: Service,
  session_id: string,
  token?: string,
): Promise<RawConnection> {
  const ticket = await ticketOf(service, session_id, token)
  const raw = await openRaw(service.port)
  raw.socket.write(upgradeRequest(session_id, ticket))
  await arrived(raw, bytes => bytes.includes('attached'))
  return raw
}

type FrameOptions = { opcode?: number; fin?: boolean; rsv?: number; masked?: boolean }

/** A frame of RFC 6455, with the defects that the options select. */
export function frame(
  payload: string | Buffer,
  { opcode = 1, fin = true, rsv = 0, masked = true }: FrameOptions = {},
): Buffer {
  const data = Buffer.from(payload)
  const length = data.length
  const extended = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8)
  if (extended.length === 2) extended.writeUInt16BE(length)
  if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length))
  const short = length < 126 ? length : length < 65_536 ? 126 : 127
  const first = (fin ? 0x80 : 0) | (rsv << 4) | opcode
  // The mask is zero, so the payload is unchanged.
  const head = [first, (masked ? 0x80 : 0) | short]
  return Buffer.concat([Buffer.from(head), extended, Buffer.alloc(masked ? 4 : 0), data])
}

export const closeFrame = (code: number, reason: string | Buffer = ''): Buffer => {
  const payload = Buffer.alloc(2)
  payload.writeUInt16BE(code)
  return frame(Buffer.concat([payload, Buffer.from(reason)]), { opcode: 8 })
}

/** The code of the close frame that the server sent; null without one. */
export function closeCodeIn(bytes: Buffer): number | null {
  const text = bytes.indexOf('attached')
  const at = bytes.indexOf(0x88, text === -1 ? 0 : text)
  return at === -1 || bytes.length < at + 4 ? null : bytes.readUInt16BE(at + 2)
}
