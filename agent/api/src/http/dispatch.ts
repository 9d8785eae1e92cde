/**
 * One request from its route to its answer: authentication, authorisation, rate limit, body, idempotency. The
 * order is part of the contract: no body is read for a caller who may not call.
 */
import { AppError, type Principal, type Route, type RouteName, errorWithHeaders } from '@cairn/protocol'
import { z } from 'zod'
import { cookieLine } from '../auth/cookies.ts'
import type { Identity } from '../auth/authenticate.ts'
import type { Services } from '../deps.ts'
import { type Handlers, textOf } from '../handler.ts'
import { type Exchange, send, sendJson } from './exchange.ts'
import { beginIdempotent, isAnsweredElsewhere } from './idempotency.ts'
import type { RateLimit } from './rate-limit.ts'
import { checkLength, fieldErrors, takeBody } from './read-body.ts'
import { findRoute, type Match } from './router.ts'
import { crc32 } from 'node:zlib'

/** A handler with its types erased: the table has proven that each fits its route. */
type AnyHandler = (call: Record<string, unknown>) => Promise<unknown>

export function createDispatch(
  services: Services,
  handlers: Handlers,
  limit: RateLimit,
): (exchange: Exchange) => Promise<void> {
  return async exchange => {
    const found = findRoute(exchange.method, exchange.path)
    if (found === null) throw new AppError('not_found', `Unknown route ${exchange.path.slice(0, 200)}.`)
    if ('allow' in found)
      throw errorWithHeaders(
        'method_not_allowed',
        `Method ${exchange.method} not allowed. Allowed: ${found.allow.join(', ')}.`,
        { allow: found.allow.join(', ') },
      )
    const { match } = found
    const { name, route, params } = match
    exchange.route = name
    checkLength(exchange, route.maxBytes)

    let identity: Identity | null = null
    if (route.access === 'public') limit(`ip ${services.clientAddress(exchange.req)}`)
    else {
      const identified = services.authenticator.identify(exchange.req)
      identity = identified instanceof Promise ? await identified : identified
      mayUse(match, identity.principal)
      limit(identity.principal.id)
      if (identity.renewedCookie !== null)
        exchange.cookies.push(cookieLine(exchange.req, identity.renewedCookie))
    }

    const query = route.query === undefined ? {} : checkQuery(match, exchange)
    const { bytes, body } = await takeBody(route, exchange)
    const principal = identity?.principal ?? null
    if (route.stream === true && exchange.method === 'HEAD')
      return answerHead(services, match, principal, exchange)
    const isKeyed =
      route.creates === true && principal !== null && exchange.req.headers['idempotency-key'] !== undefined
    const held = isKeyed
      ? await beginIdempotent(exchange, services.store.accounts, match, principal, bytes)
      : undefined
    if (held === null) return
    let answer: unknown
    try {
      answer = await (handlers[name] as unknown as AnyHandler)({
        services,
        principal,
        identity,
        params,
        query,
        body,
        exchange,
        held: held ?? null,
      })
    } catch (error) {
      if (held !== undefined && isAnsweredElsewhere(error)) return held.replay()
      await held?.drop()
      throw error
    }
    if (route.stream === true) return
    if (route.answer === undefined)
      return send(exchange, route.status, null, '', { 'cache-control': 'no-store' })
    const json = textOf(withSealedCursor(name, answer))
    await held?.keep(json)
    sendJson(exchange, route.status, json)
  }
}

/** Checks the kind of principal against the route (contract 5, 3.8). */
function mayUse({ name, route, viaApi }: Match, principal: Principal): void {
  if (principal.kind === 'service_account') {
    if (name === 'pollEvents')
      throw new AppError(
        'user_token_required',
        'The poll route accepts user tokens only: with a service account, use the stream under ' +
          '/v1/api/.',
      )
    if (!viaApi)
      throw new AppError('service_account_route', 'Service account tokens are accepted under /v1/api/ only.')
    if (route.access !== 'any')
      throw new AppError('user_token_required', 'This route accepts user tokens only.')
  } else if (route.access === 'admin' && !principal.admin)
    throw new AppError('forbidden', 'Only an administrator can do this.')
}

const takesCursor = ({ query }: Route): boolean =>
  query instanceof z.ZodObject && Object.hasOwn(query.shape, 'cursor')

function withSealedCursor(name: RouteName, answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('next_cursor' in answer)) return answer
  const { next_cursor } = answer
  return typeof next_cursor === 'string' ? { ...answer, next_cursor: sealCursor(name, next_cursor) } : answer
}

/** Responds as a GET of the stream would, without the stream. */
async function answerHead(
  { guard }: Services,
  { params }: Match,
  principal: Principal | null,
  exchange: Exchange,
): Promise<void> {
  const { id } = params
  if (principal !== null && id !== undefined) await guard.check(principal, id)
  send(exchange, 200, 'text/event-stream', '', { 'cache-control': 'no-store' })
}

/** The route's query parameters; all others are ignored (contract 3.3). */
function checkQuery({ name, route }: Match, { search }: Exchange): unknown {
  const values: Record<string, string> =
    search === '' ? {} : Object.fromEntries([...new URLSearchParams(search)].toReversed())
  const { cursor } = values
  if (cursor !== undefined && takesCursor(route)) values['cursor'] = openCursor(name, cursor)
  const parsed = route.query?.safeParse(values)
  if (parsed?.success) return parsed.data
  const errors = fieldErrors(parsed?.error.issues ?? [])
  const isCursor = errors.some(({ path }) => path === 'after')
  throw new AppError(
    isCursor ? 'invalid_cursor' : 'bad_request',
    `Invalid query: ${errors.map(({ path, message }) => `${path}: ${message}`).join('; ')}.`,
    { extra: { errors } },
  )
}

/**
 * Page cursors for clients: the store's cursor with a checksum over it and its route. A damaged or forged
 * cursor, or one of another listing, is rejected; the store would take many of them for a position after the
 * newest row and return the first page again.
 */
const checksum = (route: RouteName, cursor: string): string => crc32(`${route} ${cursor}`).toString(36)

const sealCursor = (route: RouteName, cursor: string): string => `${cursor}~${checksum(route, cursor)}`

function openCursor(route: RouteName, sealed: string): string {
  const at = sealed.lastIndexOf('~')
  const cursor = sealed.slice(0, Math.max(at, 0))
  if (at < 1 || sealed.slice(at + 1) !== checksum(route, cursor))
    throw new AppError(
      'invalid_cursor',
      `Invalid cursor ${JSON.stringify(sealed.slice(0, 200))}: use the next_cursor of this list, ` +
        'or omit it for the first page.',
      { extra: { errors: [{ path: 'cursor', message: 'must be the next_cursor of this list' }] } },
    )
  return cursor
}
