/** A browser's side of the website widget, without a browser: a cookie, the CSRF token, the stream. */
import type { Channels } from '@cairn/channels'

export const SITE = 'https://shop.example'
export const IDENTITY_SECRET = 'an-identity-secret-of-32-letters'
const HOST = 'cairn.example'

export type Asked = {
  method?: string
  body?: unknown
  origin?: string | null
  csrf?: string | null
  cookie?: string | null
  headers?: Record<string, string>
  query?: string
  address?: string
}
export type Told = { status: number; json: Record<string, unknown>; headers: Headers; text: string }

export async function ask(channels: Channels, path: string, asked: Asked = {}): Promise<Told> {
  const { method = 'POST', body, origin = `https://${HOST}`, csrf = null, cookie = null, query = '' } = asked
  const { address = '192.0.2.1' } = asked
  const headers = new Headers({ host: HOST, ...asked.headers })
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (origin !== null) headers.set('origin', origin)
  if (csrf !== null) headers.set('x-cairn-csrf', csrf)
  if (cookie !== null) headers.set('cookie', cookie)
  const response = await channels.handle({
    method,
    path: `/v1/website/${path}`,
    query: new URLSearchParams(query),
    headers,
    raw: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    signal: new AbortController().signal,
    address,
  })
  const text = await response.text()
  const isJson = (response.headers.get('content-type') ?? '').includes('json')
  const json = isJson ? (JSON.parse(text) as Record<string, unknown>) : {}
  return { status: response.status, json, headers: response.headers, text }
}

export type Record_ = { type: string; id?: number; data: Record<string, unknown> }

/** A visitor who has opened the frame. */
export async function visit(
  channels: Channels,
  body: Record<string, unknown>,
  cookie: string | null = null,
  address = '192.0.2.1',
) {
  const begun = await ask(channels, 'sessions', { body, cookie, address })
  const kept = begun.headers.get('set-cookie')?.split(';')[0] ?? cookie
  const id = String(begun.json['session_id'])
  const csrf = String(begun.json['csrf'])
  const mine = { cookie: kept, csrf, address }
  return {
    begun,
    id,
    cookie: kept,
    csrf,
    post: (rest: string, asked: Asked = {}) => ask(channels, `sessions/${id}/${rest}`, { ...mine, ...asked }),
    say: (content: string, key?: string) =>
      ask(channels, `sessions/${id}/messages`, {
        ...mine,
        body: { content },
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      }),
    /** The stream from its start, until `until` returns true. */
    async stream(until: (records: Record_[]) => boolean): Promise<Record_[]> {
      const gone = new AbortController()
      const response = await channels.handle({
        method: 'GET',
        path: `/v1/website/sessions/${id}/events`,
        query: new URLSearchParams('after=0'),
        headers: new Headers({ host: HOST, cookie: kept ?? '' }),
        raw: new Uint8Array(),
        signal: gone.signal,
        address: '192.0.2.1',
      })
      const records: Record_[] = []
      let rest = ''
      for await (const bytes of response.body!) {
        rest += Buffer.from(bytes).toString()
        const frames = rest.split('\n\n')
        rest = frames.pop() ?? ''
        for (const frame of frames) {
          const data = /^data: (.*)$/m.exec(frame)?.[1]
          if (data === undefined) continue
          const parsed = JSON.parse(data) as Omit<Record_, 'type'>
          const type = /^event: (.*)$/m.exec(frame)?.[1] ?? ''
          records.push(type === 'state' ? { type, data: parsed as never } : { ...parsed, type })
        }
        if (until(records)) break
      }
      gone.abort()
      return records
    },
  }
}
export type Visit = Awaited<ReturnType<typeof visit>>
