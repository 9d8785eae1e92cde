/**
 * Revisions before 2026-07-28. A client sends `initialize` once and says there what it can do; a request of
 * the server, such as a question, goes out in the stream of the call that asks, and its answer comes in a
 * request of its own.
 *
 * The session id contains what the client said, so any replica answers any request. It is not a credential:
 * each request has its own. Only the questions of a running call are in memory, because
 * its stream is too: an answer must reach the process that asks, or the question stays open in the session.
 */
import { randomUUID } from 'node:crypto'
import {
  type ClientCapabilities,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server'
import type { Principal } from '@cairn/protocol'
import type { McpRequest } from './request.ts'
import { invalidRequest, rpcError } from './rpc-errors.ts'

type Answer = JSONRPCResultResponse | JSONRPCErrorResponse

const REVISIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']
/** What a client speaks that names no revision. */
const UNNAMED = '2025-03-26'
const SESSION = 'mcp-session-id'

/** Letters of the session id for what the client can do. */
const ABILITIES: Readonly<Record<string, ClientCapabilities>> = {
  f: { elicitation: { form: {} } },
  u: { elicitation: { url: {} } },
  s: { sampling: {} },
  r: { roots: {} },
}

function sessionIdFor({ elicitation, sampling, roots }: ClientCapabilities): string {
  const letters = [
    ...(elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
      ? ['f']
      : []),
    ...(elicitation?.url === undefined ? [] : ['u']),
    ...(sampling === undefined ? [] : ['s']),
    ...(roots === undefined ? [] : ['r']),
  ]
  return `${randomUUID()}.${letters.join('')}`
}

/** What the client said it can do; null: not an id of this server. */
function capabilitiesIn(sessionId: string | null): ClientCapabilities | null {
  if (sessionId === null) return {}
  const match = /^[\da-f-]{36}\.([fusr]{0,4})$/.exec(sessionId)
  if (match === null) return null
  const all = [...(match[1] ?? '')].map(letter => ABILITIES[letter] ?? {})
  const elicitation = Object.assign({}, ...all.map(each => each.elicitation ?? {})) as object
  return {
    ...Object.assign({}, ...all),
    ...(Object.keys(elicitation).length === 0 ? {} : { elicitation }),
  } as ClientCapabilities
}

export class LegacyExchanges {
  readonly #serverFor: (principal: Principal) => Server
  /** Questions that wait for an answer, by principal and id. */
  readonly #asked = new Map<string, ExchangeTransport>()
  /** Running requests by principal, session and id, which a client may cancel. */
  readonly #running = new Map<string, ExchangeTransport>()

  constructor(serverFor: (principal: Principal) => Server) {
    this.#serverFor = serverFor
  }

  async serve(message: Record<string, unknown>, request: McpRequest): Promise<Response> {
    const { headers, principal } = request
    const sessionId = headers.get(SESSION)
    const capabilities = capabilitiesIn(sessionId)
    if (capabilities === null) return rpcError(404, -32001, 'Session not found: send initialize.')
    const version = headers.get('mcp-protocol-version') ?? UNNAMED
    if (!REVISIONS.includes(version))
      return rpcError(400, -32000, `Unsupported protocol version ${version.slice(0, 50)}.`, {
        data: { supported: [...REVISIONS, '2026-07-28'] },
      })
    if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message))
      return this.#takeAnswer(message, principal)
    if (isJSONRPCNotification(message)) {
      if (message.method === 'notifications/cancelled') {
        const id = (message.params as { requestId?: RequestId } | undefined)?.requestId
        this.#running.get(runningKey(principal, sessionId, id))?.onmessage?.(message)
      }
      return new Response(null, { status: 202 })
    }
    if (!isJSONRPCRequest(message)) return invalidRequest('Invalid request: not a JSON-RPC message.')
    const accept = headers.get('accept') ?? ''
    if (
      !['application/json', 'text/event-stream'].every(
        type => accept.includes(type) || accept.includes('*/*'),
      )
    )
      return rpcError(406, -32000, 'Not acceptable: accept application/json and text/event-stream.')
    return this.#run(message, request, { sessionId, capabilities, version })
  }

  #takeAnswer(message: Answer, principal: Principal): Response {
    const key = askedKey(principal, message.id)
    const transport = this.#asked.get(key)
    if (transport === undefined) return parseErrorOfAnswer()
    this.#asked.delete(key)
    transport.takeAnswer(message)
    return new Response(null, { status: 202 })
  }

  async #run(
    message: JSONRPCRequest,
    { principal, signal }: McpRequest,
    client: { sessionId: string | null; capabilities: ClientCapabilities; version: string },
  ): Promise<Response> {
    const isInitialize = message.method === 'initialize'
    const headers: Record<string, string> = isInitialize
      ? { [SESSION]: sessionIdFor((message.params?.['capabilities'] ?? {}) as ClientCapabilities) }
      : {}
    const transport = new ExchangeTransport(message.id, headers, id => {
      const key = askedKey(principal, id)
      this.#asked.set(key, transport)
      return () => this.#asked.delete(key)
    })
    const key = runningKey(principal, client.sessionId, message.id)
    const server = this.#serverFor(principal)
    await server.connect(transport)
    this.#running.set(key, transport)
    const end = (): void => {
      if (this.#running.get(key) === transport) this.#running.delete(key)
      signal.removeEventListener('abort', close)
    }
    const close = (): void => void server.close()
    transport.onend = () => {
      end()
      close()
    }
    signal.addEventListener('abort', close)
    if (!isInitialize) transport.introduce(client)
    transport.onmessage?.(message)
    return transport.response
  }
}

const askedKey = ({ id }: Principal, request: RequestId | undefined): string => `${id} ${String(request)}`
const runningKey = ({ id }: Principal, session: string | null, request: RequestId | undefined): string =>
  JSON.stringify([id, session, request])
const parseErrorOfAnswer = (): Response =>
  rpcError(404, -32001, 'Unknown request: no call of this process waits for this answer.')

const INTRODUCTION = 'cairn-initialize'

/** One request: its answer as JSON, or as a stream if the server sends something before. */
class ExchangeTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  onend?: () => void
  readonly response: Promise<Response>
  readonly #id: RequestId
  readonly #headers: Record<string, string>
  readonly #expect: (id: string) => () => void
  readonly #settle: (response: Response) => void
  /** Ids that the client sees, with the ids of the server and how to forget them. */
  readonly #sent = new Map<string, { id: RequestId; forget: () => void }>()
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null
  #isClosed = false

  constructor(id: RequestId, headers: Record<string, string>, expect: (id: string) => () => void) {
    this.#id = id
    this.#headers = headers
    this.#expect = expect
    const { promise, resolve } = Promise.withResolvers<Response>()
    this.response = promise
    this.#settle = resolve
  }

  async start(): Promise<void> {}

  /** Gives the server what the client said in its own `initialize`. */
  introduce({ version, capabilities }: { version: string; capabilities: ClientCapabilities }): void {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'client', version: '0' } }
    this.onmessage?.({ jsonrpc: '2.0', id: INTRODUCTION, method: 'initialize', params })
  }

  takeAnswer(message: Answer): void {
    const sent = this.#sent.get(String(message.id))
    if (sent === undefined) return
    this.#sent.delete(String(message.id))
    this.onmessage?.({ ...message, id: sent.id })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return
    const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)
    if (isAnswer && message.id === INTRODUCTION) return
    if (!isAnswer) return this.#write(isJSONRPCRequest(message) ? this.#named(message) : message)
    if (message.id !== this.#id) return
    if (this.#stream === null) this.#settle(Response.json(message, { headers: this.#headers }))
    else {
      this.#write(message)
      this.#stream.close()
    }
    this.#finish()
  }

  /** A request of the server gets a random id, so another client cannot guess it. */
  #named(message: JSONRPCRequest): JSONRPCMessage {
    const id = randomUUID()
    this.#sent.set(id, { id: message.id, forget: this.#expect(id) })
    return { ...message, id }
  }

  #write(message: JSONRPCMessage): void {
    if (this.#stream === null) {
      const body = new ReadableStream<Uint8Array>({
        start: controller => {
          this.#stream = controller
        },
      })
      const headers = { ...this.#headers, 'content-type': 'text/event-stream' }
      this.#settle(new Response(body, { headers }))
    }
    const frame = `event: message\ndata: ${JSON.stringify(message)}\n\n`
    this.#stream?.enqueue(new TextEncoder().encode(frame))
  }

  #finish(): void {
    this.#isClosed = true
    for (const { forget } of this.#sent.values()) forget()
    this.#sent.clear()
    this.onend?.()
  }

  async close(): Promise<void> {
    if (!this.#isClosed) {
      // The client has left, so this answer is not sent.
      if (this.#stream === null) this.#settle(new Response(null, { status: 499 }))
      this.#finish()
    }
    this.onclose?.()
  }
}
