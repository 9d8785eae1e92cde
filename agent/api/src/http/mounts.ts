/** Paths below which others answer: platforms call the channels here, and sign every byte of a body. */
import type { Services } from '../deps.ts'
import { type Exchange, sendJson } from './exchange.ts'
import type { RateLimit } from './rate-limit.ts'
import { checkLength, readBody } from './read-body.ts'

export type Mount = {
  /** Ends with a slash. */
  prefix: string
  /** Resolves when what came is on disk; throws AppError for what is refused. */
  handle(request: { method: string; path: string; headers: Headers; raw: Uint8Array }): Promise<void>
}

const MAX_BODY = 4 * 1024 * 1024

/**
 * Answers what is below a mount, and leaves the rest to `dispatch`. Platforms are limited as callers of
 * public routes are.
 */
export function besideMounts(
  { mounts = [], clientAddress }: Pick<Services, 'mounts' | 'clientAddress'>,
  limit: RateLimit,
  dispatch: (exchange: Exchange) => Promise<void>,
): (exchange: Exchange) => Promise<void> {
  return exchange => {
    const mount = mounts.find(({ prefix }) => exchange.path.startsWith(prefix))
    return mount === undefined
      ? dispatch(exchange)
      : answer(mount, exchange, () => limit(`ip ${clientAddress(exchange.req)}`))
  }
}

async function answer({ prefix, handle }: Mount, exchange: Exchange, limit: () => void): Promise<void> {
  exchange.route = `mount ${prefix}`
  checkLength(exchange, MAX_BODY)
  limit()
  const raw = await readBody(exchange, MAX_BODY)
  const headers = new Headers()
  for (const [name, value] of Object.entries(exchange.req.headersDistinct))
    for (const each of value ?? []) headers.append(name, each)
  await handle({ method: exchange.method, path: exchange.path, headers, raw })
  sendJson(exchange, 200, '{}')
}
