/**
 * What a check has in hand: raw requests to the server, and sentences about what should have come and what
 * came.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'

export type Answer = { status: number; headers: Headers; text: string; json: Record<string, unknown> }
type CallOptions = {
  method?: string
  body?: unknown
  raw?: string
  headers?: Record<string, string>
  /** Null: nobody. */ token?: string | null
}

export type Probe = {
  url: string
  signal: AbortSignal
  /** How many connections the resume check opens. */
  cuts: number
  random: () => number
  call(path: string, options?: CallOptions): Promise<Answer>
  /** A session that takes messages and does nothing with them: no model is called. */
  quietSession(): Promise<string>
  /** Adds messages one after the other; the ids of their events. */
  say(sessionId: string, count: number): Promise<number[]>
  /** The bytes of a stream, until `enough` says so of the text so far. */
  stream(
    path: string,
    enough: (text: string) => boolean,
    options?: { headers?: Record<string, string>; token?: string },
  ): Promise<{ status: number; headers: Headers; text: string }>
}

/** The server did otherwise. */
class ExpectationFailed extends Error {
  override readonly name = 'ExpectationFailed'
}
/** The check cannot be made with this token. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked'
}

const brief = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined ? 'nothing' : text.length > 300 ? `${text.slice(0, 300)}…` : text
}
export function expectEqual(what: string, got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted))
    throw new ExpectationFailed(`${what}: expected ${brief(wanted)}, got ${brief(got)}`)
}
export function expectTrue(what: string, met: boolean): void {
  if (!met) throw new ExpectationFailed(what)
}
/** An RFC 9457 problem with this status and code. */
export function expectProblem(what: string, answer: Answer, status: number, code: string): void {
  expectEqual(`${what}: status and code`, [answer.status, answer.json['code']], [status, code])
  expectTrue(
    `${what}: content-type is application/problem+json, not ${answer.headers.get('content-type')}`,
    answer.headers.get('content-type')?.startsWith('application/problem+json') === true,
  )
  for (const key of ['type', 'title', 'detail', 'request_id'])
    expectTrue(
      `${what}: the problem has ${key} as text`,
      typeof answer.json[key] === 'string' && answer.json[key] !== '',
    )
  expectEqual(`${what}: status in the document`, answer.json['status'], status)
}

export function createProbe(
  url: string,
  token: () => string | Promise<string>,
  { cuts, signal, random }: { cuts: number; signal: AbortSignal; random: () => number },
): Probe {
  async function send(
    path: string,
    { method = 'GET', body, raw, headers = {}, token: given }: CallOptions,
    wait: AbortSignal,
  ): Promise<Response> {
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

  const probe: Probe = {
    url,
    signal,
    cuts,
    random,
    async call(path, options = {}) {
      const response = await send(path, options, AbortSignal.any([signal, AbortSignal.timeout(30_000)]))
      const text = await response.text()
      const isJson = (response.headers.get('content-type') ?? '').includes('json') && text !== ''
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      }
    },
    async quietSession() {
      const made = await probe.call('/v1/sessions', {
        method: 'POST',
        body: { title: `conformance ${randomUUID().slice(0, 8)}` },
      })
      expectEqual('creating a session', made.status, 201)
      const id = String(made.json['id'])
      expectEqual(
        'pausing it',
        (await probe.call(`/v1/sessions/${id}/pause`, { method: 'POST' })).status,
        200,
      )
      return id
    },
    async say(sessionId, count) {
      const ids: number[] = []
      for (let n = 0; n < count; n++) {
        const { status, json } = await probe.call(`/v1/sessions/${sessionId}/messages`, {
          method: 'POST',
          body: { content: `message ${n} é 日本語 ${'x'.repeat((n * 37) % 200)}` },
        })
        expectEqual('sending a message', status, 202)
        ids.push(Number(json['event_id']))
      }
      return ids
    },
    async stream(path, enough, options = {}) {
      const over = new AbortController()
      const response = await send(
        path,
        {
          headers: { accept: 'text/event-stream', ...options.headers },
          ...(options.token === undefined ? {} : { token: options.token }),
        },
        AbortSignal.any([signal, over.signal, AbortSignal.timeout(30_000)]),
      )
      let text = ''
      try {
        if (response.status !== 200)
          return { status: response.status, headers: response.headers, text: await response.text() }
        const decoder = new TextDecoder()
        for await (const bytes of response.body ?? []) {
          text += decoder.decode(bytes, { stream: true })
          if (enough(text)) break
        }
        return { status: 200, headers: response.headers, text }
      } finally {
        over.abort()
      }
    },
  }
  return probe
}

export type Frame = { id: number; event: string; data: string }
/** The whole frames of a stream's text; comments and what a cut left unfinished are left out. */
export function framesOf(text: string): Frame[] {
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  return whole.split('\n\n').flatMap(block => {
    const field = (name: string): string | undefined =>
      block
        .split('\n')
        .find(line => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const data = field('data')
    return data === undefined ? [] : [{ id: Number(field('id')), event: field('event') ?? '', data }]
  })
}
