/** One request of the route table: path, query and body from its row. */
import {
  type AnswerOf,
  type BodyOf,
  type ParamsOf,
  type QueryOf,
  type ROUTES,
  type RouteName,
  routeLine,
} from '@cairn/protocol'
import { readFailure } from './failure.ts'
import type { Source } from './source.ts'

/** Routes that answer with JSON or an empty body; streams have separate functions. */
export type CallableRoute = {
  [N in RouteName]: (typeof ROUTES)[N] extends { stream: true } ? never : N
}[RouteName]

type Params<N extends RouteName> = [ParamsOf<N>] extends [never]
  ? { params?: undefined }
  : { params: Record<ParamsOf<N>, string | number> }
type Query<N extends RouteName> = { query?: { [K in keyof QueryOf<N>]: QueryOf<N>[K] | undefined } }
type Body<N extends RouteName> = BodyOf<N> extends undefined ? { body?: undefined } : { body: BodyOf<N> }
export type CallOptions<N extends RouteName> = Params<N> &
  Query<N> &
  Body<N> & {
    /** Makes a POST that creates something safe to repeat for 24 hours. */
    idempotencyKey?: string
    signal?: AbortSignal
    /** Use the path below /v1/api, which service accounts require. */
    api?: boolean
  }
export type Call = <N extends CallableRoute>(
  name: N,
  ...options: {} extends CallOptions<N> ? [options?: CallOptions<N>] : [options: CallOptions<N>]
) => Promise<AnswerOf<N>>

type Values = Record<string, string | number | undefined>
/** Path and query of a request, relative to the base URL. */
export async function pathOf(
  name: RouteName,
  options: { params?: Values | undefined; query?: Values | undefined; api?: boolean | undefined },
): Promise<string> {
  const route = await routeLine(name)
  if (options.api && !route.alias)
    throw new Error(`[${name}] is not available below /v1/api: it accepts user tokens only`)
  const path = route.path.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = options.params?.[key]
    if (value === undefined || value === '')
      throw new Error(
        `[${name}] missing path parameter "${key}": got ${value === '' ? 'an empty string' : 'nothing'}`,
      )
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(options.query ?? {}))
    if (value !== undefined) query.set(key, String(value))
  const text = query.toString()
  return `${options.api ? '/v1/api' : '/v1'}${path}${text === '' ? '' : `?${text}`}`
}

type LooseOptions = {
  params?: Values
  query?: Values
  body?: unknown
  idempotencyKey?: string
  signal?: AbortSignal
  api?: boolean
}

/** Throws if the answer does not match the route's schema. */
export type CheckAnswer = (name: RouteName, answer: unknown) => void

export function callWith({ baseUrl, send, apiByDefault, tuning }: Source, check: CheckAnswer): Call {
  return async <N extends CallableRoute>(name: N, ...[given]: [options?: unknown]): Promise<AnswerOf<N>> => {
    const options = (given ?? {}) as LooseOptions
    const route = await routeLine(name)
    const headers: Record<string, string> = { accept: 'application/json, application/problem+json' }
    if (options.body !== undefined) headers['content-type'] = 'application/json'
    if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey
    const response = await send(
      baseUrl + (await pathOf(name, { ...options, api: options.api ?? (apiByDefault && route.alias) })),
      {
        method: route.method,
        headers,
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      },
    )
    if (!response.ok) throw await readFailure(response, tuning.now())
    if (!route.answers) {
      await response.body?.cancel()
      return undefined as AnswerOf<N>
    }
    const answer = readJson(name, await response.text())
    check(name, answer)
    return answer as AnswerOf<N>
  }
}

function readJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`[${name}] expected JSON from the server, got: ${text.slice(0, 80)}`, { cause: error })
  }
}
