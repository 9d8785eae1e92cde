/**
 * Between Playwright and a browser elsewhere: passes every message on, and judges each request that the
 * browser holds back, the hops of a redirect among them, which Playwright lets go by itself. A hop that is
 * refused is failed in place of going on; Playwright hears of it as of any request that failed.
 *
 * A relay and no transport of ours: over one of those Playwright takes the browser to be on this machine, and
 * names files to it that it does not have.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { limitResponse } from '@cairn/protocol'
import { z } from 'zod'
import { type RawData, WebSocket, WebSocketServer } from 'ws'

export type CdpRelay = {
  /** For Playwright alone: it holds a secret, and takes one connection. */
  url: string
  close(): void
}

type RelayOptions = {
  /** Of the browser: ws, wss, http or https. */
  url: string
  /** Whether a request to this address must not go out. */
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
  // Rejects with what went wrong; later errors are followed by a close.
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
  // They stay: neither a connection that could not be accepted nor a second client may end the process.
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

/** A description of a browser has some 500 bytes. */
const MAX_VERSION_BYTES = 64 * 1024

/** A browser's address may be that of its HTTP server, which knows the socket's. It is asked there alone. */
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

/** Undefined for any other message, and for text that is not JSON: the browser may send anything. */
function readMessage(text: string): Message | undefined {
  try {
    return Message.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function createMessageFilter(refuses: RelayOptions['refuses']): MessageFilter {
  /** Held back by the browser, and not to go on. */
  const refused = new Set<string>()
  return {
    heard(text) {
      // Few messages are these, and screens of pages are long.
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
