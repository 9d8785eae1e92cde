/** Tools for a check: raw requests to the server, and a session to test with. */
import { randomUUID } from 'node:crypto'
import { type Answer, expectEqual } from './expectations.ts'

type CallOptions = {
  method?: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
  /** Null: no authentication. */
  token?: string | null
}

export type Probe = {
  url: string
  signal: AbortSignal
  /** Number of connections that the resume check opens. */
  cuts: number
  random: () => number
  call(path: string, options?: CallOptions): Promise<Answer>
  /** A session that stores messages but never runs: no model is called. */
  quietSession(): Promise<string>
  /** Sends messages one after the other; returns the ids of their events. */
  say(sessionId: string, count: number): Promise<number[]>
  /** Reads a stream until `enough` returns true for the text so far. */
  stream(
    path: string,
    enough: (text: string) => boolean,
    options?: { headers?: Record<string, string>; token?: string },
  ): Promise<{ status: number; headers: Headers; text: string }>
}

/** A promise that can be checked from outside. */
export type Check = {
  name: string
  /** Returns a short description of what it checked. */
  run(probe: Probe): Promise<string>
}

export type ProbeOptions = { cuts: number; signal: AbortSignal; random: () => number }

type Send = (path: string, options: CallOptions, wait: AbortSignal) => Promise<Response>
/** Timeout of one request. */
const MAX_MS = 30_000

export function createProbe(
  url: string,
  token: () => string | Promise<string>,
  { cuts, signal, random }: ProbeOptions,
): Probe {
  const send: Send = async (path, { method = 'GET', body, raw, headers = {}, token: given }, wait) => {
    const bearer = given === null ? {} : { authorization: `Bearer ${given ?? (await token())}` }
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    return fetch(url + path, {
      method,
      headers: {
        ...bearer,
        ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      signal: wait,
      ...(payload === undefined ? {} : { body: payload }),
    })
  }
  const call = createCall(send, signal)
  return {
    url,
    signal,
    cuts,
    random,
    call,
    quietSession: () => makeQuietSession(call),
    say: (sessionId, count) => say(call, sessionId, count),
    stream: createStream(send, signal),
  }
}

const createCall =
  (send: Send, signal: AbortSignal): Probe['call'] =>
  async (path, options = {}) => {
    const response = await send(path, options, AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]))
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== ''
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
    }
  }

const createStream =
  (send: Send, signal: AbortSignal): Probe['stream'] =>
  async (path, enough, { headers, token } = {}) => {
    const over = new AbortController()
    const response = await send(
      path,
      { headers: { accept: 'text/event-stream', ...headers }, ...(token === undefined ? {} : { token }) },
      AbortSignal.any([signal, over.signal, AbortSignal.timeout(MAX_MS)]),
    )
    const { status, headers: answered } = response
    try {
      if (status !== 200) return { status, headers: answered, text: await response.text() }
      let text = ''
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) {
        text += decoder.decode(bytes, { stream: true })
        if (enough(text)) break
      }
      return { status, headers: answered, text }
    } finally {
      over.abort()
    }
  }

async function makeQuietSession(call: Probe['call']): Promise<string> {
  const title = `conformance ${randomUUID().slice(0, 8)}`
  const made = await call('/v1/sessions', { method: 'POST', body: { title } })
  expectEqual('creating a session', made.status, 201)
  const id = String(made.json['id'])
  expectEqual('pausing it', (await call(`/v1/sessions/${id}/pause`, { method: 'POST' })).status, 200)
  return id
}

async function say(call: Probe['call'], sessionId: string, count: number): Promise<number[]> {
  const ids: number[] = []
  for (let n = 0; n < count; n++) {
    const { status, json } = await call(`/v1/sessions/${sessionId}/messages`, {
      method: 'POST',
      body: { content: `message ${n} é 日本語 ${'x'.repeat((n * 37) % 200)}` },
    })
    expectEqual('sending a message', status, 202)
    ids.push(Number(json['event_id']))
  }
  return ids
}

export const post = (probe: Probe, path: string, body: unknown, headers: Record<string, string> = {}) =>
  probe.call(path, { method: 'POST', body, headers })
