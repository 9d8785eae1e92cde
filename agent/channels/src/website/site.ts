/** The website widget: its files, and the routes of the visitor's frame below `/v1/website/`. */
import { AppError } from '@cairn/protocol'
import { assetBeside } from '@cairn/tooling/beside'
import { preflight } from './cors.ts'
import { ownerOf, type SiteCall, type SiteDeps, siteOfKey } from './owner.ts'
import { streamFor } from './stream.ts'
import { visitorKey } from './visitor.ts'
import * as routes from './visitor-routes.ts'
import { readFileSync } from 'node:fs'

export type Website = {
  handle(call: SiteCall): Promise<Response>
  /** Ends every stream. */
  stop(): void
}

export const WEBSITE_PREFIX = '/v1/website/'
const SESSION = /^sessions\/([A-Za-z0-9-]{1,64})\/(\S{1,300})$/
const RESPOND = /^questions\/([^/]{1,200})\/respond$/
const WRITES = {
  messages: routes.say,
  stop: routes.stop,
  end: routes.end,
  'confirm-disclosure': routes.confirm,
  uploads: routes.upload,
} as const
/** Streams of a visitor, one for each tab. */
const STREAMS = 5

export function createWebsite(deps: SiteDeps): Website {
  const stopping = new AbortController()
  const streams = createCount(STREAMS)
  return {
    stop: () => stopping.abort(),
    async handle(call) {
      if (call.method === 'OPTIONS') return preflight()
      const path = call.path.slice(WEBSITE_PREFIX.length)
      const asset = call.method === 'GET' ? assetOf(path) : null
      if (asset !== null) return asset
      if (path === 'frame')
        return framePage((await siteOfKey(deps, as('GET', call).query.get('key'))).origins)
      if (path === 'sessions') return routes.begin(deps, as('POST', call))
      const [, id = '', action = ''] = SESSION.exec(path) ?? []
      const [, callId] = RESPOND.exec(action) ?? []
      if (action === 'events') return follow(as('GET', call), id)
      if (callId !== undefined) return routes.respond(deps, as('POST', call), id, decoded(callId))
      if (Object.hasOwn(WRITES, action))
        return WRITES[action as keyof typeof WRITES](deps, as('POST', call), id)
      throw new AppError('not_found', `Unknown route ${call.path.slice(0, 200)}.`)
    },
  }

  async function follow(call: SiteCall, id: string): Promise<Response> {
    const { visitor } = await ownerOf(deps, call.headers, id)
    const after = call.query.get('after') ?? call.headers.get('last-event-id') ?? '0'
    if (!/^\d{1,15}$/.test(after))
      throw new AppError('invalid_cursor', 'Invalid after: must be a non-negative integer.')
    const leave = streams.enter(visitorKey(visitor))
    if (leave === null)
      throw new AppError('too_many_streams', `Too many streams: at most ${STREAMS} per visitor.`)
    const signal = AbortSignal.any([call.signal, stopping.signal])
    return streamFor(deps.store, id, Number(after), signal, leave)
  }
}

function as(method: string, call: SiteCall): SiteCall {
  if (call.method === method) return call
  throw new AppError('method_not_allowed', `Method ${call.method} not allowed. Allowed: ${method}.`)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new AppError('bad_request', 'Invalid path: not valid percent-encoding.', { cause: error })
  }
}

/** Counts per key; null if the maximum is reached. */
function createCount(most: number) {
  const counts = new Map<string, number>()
  return {
    enter(key: string): (() => void) | null {
      const count = counts.get(key) ?? 0
      if (count >= most) return null
      counts.set(key, count + 1)
      return () => {
        const left = (counts.get(key) ?? 1) - 1
        if (left === 0) counts.delete(key)
        else counts.set(key, left)
      }
    },
  }
}

/** The files of the widget: a small script for the host page, and the frame that it opens. */
const TYPES = { js: 'text/javascript', css: 'text/css', html: 'text/html' } as const
const FILES = [
  'widget.js',
  'frame.js',
  'attach.js',
  'service.js',
  'markdown.js',
  'words.js',
  'frame.css',
] as const

const STATIC = assetBeside(import.meta, './static/')
const read = (name: string): string => readFileSync(new URL(name, STATIC), 'utf8')
const texts = new Map<string, string>(FILES.map(name => [name, read(name)]))
const frame = read('frame.html')

/** Null if the file does not exist. */
function assetOf(path: string): Response | null {
  const text = texts.get(path)
  if (text === undefined) return null
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1) as keyof typeof TYPES]
  return new Response(text, {
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'public, max-age=300' },
  })
}

/** Only pages of the connection's origins may embed the frame. */
function framePage(origins: readonly string[]): Response {
  const ancestors = origins.length === 0 ? "'none'" : origins.join(' ')
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    `base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`
  return new Response(frame, {
    headers: {
      'content-type': `${TYPES.html}; charset=utf-8`,
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
    },
  })
}
