/**
 * The fetch of an MCP server over HTTP. The server controls neither how much of a response is read, nor
 * whether a call learns that its response ended, nor how often its event stream is reopened.
 */
import { limitBody } from '@cairn/protocol'
import { limitRefusals } from '@cairn/models'
import { type Clock, sleep } from '@cairn/models/clock'

export type BoundedFetch = {
  fetch: typeof globalThis.fetch
  /** Must be called for each message that arrives: the stream of an answered request may end. */
  onMessage(message: object): void
}
type Request = { id: string | number; method: string }

const MIB = 1024 * 1024
/** Maximum streams opened at once; further ones wait, one every five seconds. */
const STREAM_BURST = 5
const STREAM_EVERY_MS = 5000

export function boundedFetch(
  maxBytes: number,
  clock: Clock,
  reach: typeof globalThis.fetch = (input, init) => fetch(input, init),
): BoundedFetch {
  const open = new Map<string | number, Request>()
  const turn = streamTurns(clock)
  const send = limitRefusals(reach)
  return {
    async fetch(input, init = {}) {
      if (init.method === 'GET') await turn(init.signal ?? new AbortController().signal)
      const request = requestOf(init.body)
      const sent = await send(input, init)
      const response = request?.method === PROBE ? await probeAnswer(request, sent) : sent
      if (!response.ok || response.body === null) return response
      const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
      if (request !== null && isStream) open.set(request.id, request)
      const takeOpen = (): Request | null => {
        const found = request === null ? null : (open.get(request.id) ?? null)
        if (request !== null) open.delete(request.id)
        return found
      }
      const body = isStream
        ? limitStream(response.body, maxBytes, takeOpen)
        : limitBody(response.body, maxBytes, tooMuch(maxBytes))
      const { status, statusText, headers } = response
      return new Response(body, { status, statusText, headers })
    },
    onMessage(message) {
      if (!('method' in message) && 'id' in message) open.delete(message.id as Request['id'])
    },
  }
}

/** The request by which the SDK asks for the revisions of the protocol. */
const PROBE = 'server/discover'

/**
 * A server of the older generation may answer a request that it does not know in any way: with no content,
 * with a page, or with a failure. Each means that it does not know this one, so the SDK continues
 * with `initialize`, which shows whether the server works.
 */
async function probeAnswer({ id }: Request, response: Response): Promise<Response> {
  const isMessage = /^(?:application\/json|text\/event-stream)\b/i.test(
    response.headers.get('content-type') ?? '',
  )
  const isAnswer = response.ok && response.status !== 202 && isMessage
  if (isAnswer || (response.status >= 300 && response.status < 500)) return response
  await response.body?.cancel()
  const message = `the server answered with the status ${response.status}`
  return Response.json({ jsonrpc: '2.0', id, error: { code: -32_601, message } })
}

/** Null: a notification, or not a message. */
function requestOf(body: RequestInit['body']): Request | null {
  if (typeof body !== 'string') return null
  const { id, method } = JSON.parse(body) as Partial<Request>
  return id === undefined || method === undefined ? null : { id, method }
}

/** A token bucket, because a server can end its stream and demand the next one as often as it likes. */
function streamTurns(clock: Clock): (signal: AbortSignal) => Promise<void> {
  let next = Number.NEGATIVE_INFINITY
  return async signal => {
    const now = clock.monotonic()
    next = Math.max(next, now - STREAM_BURST * STREAM_EVERY_MS) + STREAM_EVERY_MS
    if (next > now) await sleep(clock, next - now, signal)
  }
}

const tooMuch = (maxBytes: number): string =>
  `the answer of the server is larger than ${maxBytes / MIB} MiB (max_answer_mb); the rest was not read`

/**
 * The events of the body, at most `maxBytes` bytes. If it ends, breaks or is truncated before its request has
 * an answer, one more event is added as the answer; otherwise the SDK would wait for the timeout of the call.
 * The SDK resumes a stream whose events have ids, so the end of such a stream is not a failure.
 */
function limitStream(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  takeOpen: () => Request | null,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let taken = 0
  let tail = '\n'
  let isResumable = false
  const note = (bytes: Uint8Array): void => {
    const text = tail + decoder.decode(bytes, { stream: true })
    isResumable ||= /[\r\n]id:/.test(text)
    tail = text.slice(-'\nid'.length)
  }
  async function next(): Promise<Uint8Array | { end: string | null }> {
    try {
      const { value, done } = await reader.read()
      if (done) return { end: isResumable ? null : 'the server ended its answer without a result' }
      taken += value.length
      if (taken <= maxBytes) {
        note(value)
        return value
      }
    } catch {
      return { end: isResumable ? null : 'the connection to the server broke before its answer was complete' }
    }
    await reader.cancel()
    return { end: tooMuch(maxBytes) }
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const part = await next()
        if (part instanceof Uint8Array) return controller.enqueue(part)
        const request = part.end === null ? null : takeOpen()
        if (request !== null && part.end !== null)
          controller.enqueue(new TextEncoder().encode(failureEvent(request, part.end)))
        controller.close()
      },
      cancel: reason => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** A result instead of an error for a call: only after a result does the SDK not resume the stream. */
function failureEvent({ id, method }: Request, message: string): string {
  const answer =
    method === 'tools/call'
      ? { result: { isError: true, content: [{ type: 'text', text: message }] } }
      : { error: { code: -32_000, message } }
  return `\n\nevent: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n\n`
}
