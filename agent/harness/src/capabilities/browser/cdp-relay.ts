/**
 * Relays between Playwright and a remote browser: forwards every message and checks each intercepted request,
 * including redirect hops, which Playwright lets pass. A refused hop is failed instead of continued;
 * Playwright sees an ordinary failed request.
 *
 * It is a relay and not a custom transport, because with one Playwright assumes a browser on this machine and
 * passes it file paths that it does not have.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { limitResponse } from '@cairn/protocol'
import { z } from 'zod'
import { type RawData, WebSocket, WebSocketServer } from 'ws'

export type CdpRelay = {
  /** For Playwright only: the URL contains a secret and accepts one connection. */
  url: string
  close(): void
}

type RelayOptions = {
  /** URL of the browser: ws, wss, http or https. */
  url: string
  /** Whether a request to this address must be refused. */
  refuses(url: string): boolean
  timeoutMs: number
}

const MAX_MESSAGE = 256 * 2 ** 20
const Message = z.looseObject({
  method: z.string(),
  sessionId: z.string().optional(),
  params: z.looseObject({ requestId: z.string(), request: z.object({ url: z.string() }).optional() }),
})
type Message = z.infer<typeof Message>

export async function openCdpRelay({ url, refuses, timeoutMs }: RelayOptions): Promise<CdpRelay> {
  const signal = AbortSignal.timeout(timeoutMs)
  const browser = new WebSocket(await socketOf(url, signal), { maxPayload: MAX_MESSAGE })
  // Rejects with the error; later errors are followed by a close.
  await once(browser, 'open', { signal }).catch((error: unknown) => {
    browser.terminate()
    throw error
  })
  browser.on('error', () => browser.terminate())
  const secret = randomBytes(32).toString('base64url')
  const listener = createServer()
  const sockets = new WebSocketServer({ server: listener, path: `/${secret}`, maxPayload: MAX_MESSAGE })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  // These handlers stay: neither a failed accept nor a second client may end the process.
  sockets.on('error', () => listener.close())
  sockets.on('connection', client => {
    client.on('error', () => client.terminate())
    if (sockets.clients.size > 1) return client.terminate()
    listener.close()
    join(client, browser, createMessageFilter(refuses))
  })
  return {
    url: `ws://127.0.0.1:${(listener.address() as AddressInfo).port}/${secret}`,
    close: () => end(listener, sockets, browser),
  }
}

/** A browser's version document has about 500 bytes. */
const MAX_VERSION_BYTES = 64 * 1024

/**
 * The address may be that of the browser's HTTP server, which returns that of the socket. Only that server is
 * asked.
 */
async function socketOf(url: string, signal: AbortSignal): Promise<string> {
  if (/^wss?:/.test(url)) return url
  const version = new URL(url)
  version.pathname = `${version.pathname.replace(/\/$/, '')}/json/version/`
  const answered = await fetch(version, { signal, redirect: 'error' })
  const told: unknown = await limitResponse(answered, MAX_VERSION_BYTES).json()
  return z.object({ webSocketDebuggerUrl: z.url({ protocol: /^wss?$/ }) }).parse(told).webSocketDebuggerUrl
}

function end(listener: Server, sockets: WebSocketServer, browser: WebSocket): void {
  for (const client of sockets.clients) client.terminate()
  sockets.close()
  listener.close()
  browser.terminate()
}

type MessageFilter = { heard(text: string): void; told(text: string): string }

function join(client: WebSocket, browser: WebSocket, judge: MessageFilter): void {
  browser.on('message', (data: RawData) => {
    const text = String(data)
    judge.heard(text)
    client.send(text)
  })
  client.on('message', (data: RawData) => browser.send(judge.told(String(data))))
  client.once('close', () => browser.close())
  browser.once('close', () => client.close())
}

const keyOf = ({ sessionId = '', params }: Message): string => `${sessionId} ${params.requestId}`

/** Undefined for any other message and for invalid JSON: the browser may send anything. */
function readMessage(text: string): Message | undefined {
  try {
    return Message.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function createMessageFilter(refuses: RelayOptions['refuses']): MessageFilter {
  /** Intercepted requests that were refused. */
  const refused = new Set<string>()
  return {
    heard(text) {
      // Such messages are rare, and screenshots are long, so search before parsing.
      if (!text.includes('"Fetch.requestPaused"')) return
      const message = readMessage(text)
      const url = message?.method === 'Fetch.requestPaused' ? message.params.request?.url : undefined
      if (message !== undefined && url !== undefined && refuses(url)) refused.add(keyOf(message))
    },
    told(text) {
      if (refused.size === 0 || !text.includes('"Fetch.')) return text
      const message = readMessage(text)
      if (message === undefined || !refused.delete(keyOf(message))) return text
      if (message.method !== 'Fetch.continueRequest') return text
      const { requestId } = message.params
      const params = { requestId, errorReason: 'BlockedByClient' }
      return JSON.stringify({ ...message, method: 'Fetch.failRequest', params })
    },
  }
}
