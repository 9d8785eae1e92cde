/**
 * Relays between Playwright and a remote browser: forwards every message and checks each intercepted request,
 * including redirect hops, which Playwright lets pass. A refused hop is failed instead of continued;
 * Playwright sees an ordinary failed request. It also keeps Playwright away from the tabs that the browser
 * already has: they belong to others, and Playwright would wait until each of them has loaded.
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

const NewContext = z.object({ id: z.number(), method: z.literal('Target.createBrowserContext') })
const ContextCreated = z.object({ id: z.number(), result: z.object({ browserContextId: z.string() }) })
const Attached = z.looseObject({
  method: z.literal('Target.attachedToTarget'),
  // Absent on the connection itself; inside a session the target is a part of our own page.
  sessionId: z.undefined().optional(),
  params: z.looseObject({ targetInfo: z.looseObject({ browserContextId: z.string().optional() }) }),
})

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

/** `heard` gives what Playwright receives for a message of the browser, `told` the reverse. */
type MessageFilter = { heard(text: string): string; told(text: string): string }

function join(client: WebSocket, browser: WebSocket, judge: MessageFilter): void {
  browser.on('message', (data: RawData) => {
    client.send(judge.heard(String(data)))
  })
  client.on('message', (data: RawData) => browser.send(judge.told(String(data))))
  client.once('close', () => browser.close())
  browser.once('close', () => client.close())
}

const keyOf = ({ sessionId = '', params }: Message): string => `${sessionId} ${params.requestId}`

/** Undefined for any other message and for invalid JSON: the browser may send anything. */
function readMessage<Shape>(shape: z.ZodType<Shape>, text: string): Shape | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function createMessageFilter(refuses: RelayOptions['refuses']): MessageFilter {
  const requests = createRequestFilter(refuses)
  const targets = createTargetFilter()
  return {
    // These messages are rare, and screenshots are long, so search before parsing.
    heard(text) {
      if (text.includes('"Fetch.requestPaused"')) requests.heard(text)
      return targets.heard(text)
    },
    told(text) {
      if (text.includes('"Target.createBrowserContext"')) targets.told(text)
      return text.includes('"Fetch.') ? requests.told(text) : text
    },
  }
}

function createRequestFilter(refuses: RelayOptions['refuses']) {
  /** Intercepted requests that were refused. */
  const refused = new Set<string>()
  return {
    heard(text: string): void {
      const message = readMessage(Message, text)
      const url = message?.method === 'Fetch.requestPaused' ? message.params.request?.url : undefined
      if (message !== undefined && url !== undefined && refuses(url)) refused.add(keyOf(message))
    },
    told(text: string): string {
      if (refused.size === 0) return text
      const message = readMessage(Message, text)
      if (message === undefined || !refused.delete(keyOf(message))) return text
      if (message.method !== 'Fetch.continueRequest') return text
      const { requestId } = message.params
      const params = { requestId, errorReason: 'BlockedByClient' }
      return JSON.stringify({ ...message, method: 'Fetch.failRequest', params })
    },
  }
}

/** Playwright detaches at once from a target without a context, so a tab of another context is shown as one. */
function createTargetFilter() {
  const own = new Set<string>()
  /** Ids of requests for a context whose answers are still to come. */
  const pending = new Set<number>()
  return {
    told(text: string): void {
      const request = readMessage(NewContext, text)
      if (request !== undefined) pending.add(request.id)
    },
    heard(text: string): string {
      if (pending.size > 0 && text.includes('"browserContextId"')) {
        const created = readMessage(ContextCreated, text)
        if (created !== undefined && pending.delete(created.id)) own.add(created.result.browserContextId)
      }
      if (!text.includes('"Target.attachedToTarget"')) return text
      const attached = readMessage(Attached, text)
      const context = attached?.params.targetInfo.browserContextId
      if (attached === undefined || context === undefined || own.has(context)) return text
      const { browserContextId: _, ...targetInfo } = attached.params.targetInfo
      return JSON.stringify({ ...attached, params: { ...attached.params, targetInfo } })
    },
  }
}
