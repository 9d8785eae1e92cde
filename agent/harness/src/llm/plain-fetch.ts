/**
 * A fetch for answers that come in hundreds of small pieces. Undici's own hands each through an iterator and
 * a stream of bytes, at twice what undici's request takes for the same; what is rare (a redirect, a body that
 * is a stream) is left to it.
 */
import type { Duplex, Readable } from 'node:stream'
import zlib from 'node:zlib'
import { type Dispatcher, fetch as undiciFetch } from 'undici'
import type { Fetch } from './transport.ts'

/** Pieces that wait for the reader before the socket is read no further. */
const MOST_WAITING = 16
/** Statuses that have no body (Fetch standard, null body status). */
const BODILESS = [101, 204, 205, 304]
const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** What was sent is flushed as far as it came, as a stream of events needs it. */
const flushed = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
/** Nobody is asked to compress; some do. */
const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: () => zlib.createGunzip(flushed),
  'x-gzip': () => zlib.createGunzip(flushed),
  deflate: () => zlib.createInflate(flushed),
  br: () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}

export function createPlainFetch(dispatcher: Dispatcher): Fetch {
  const rare = (input: Parameters<Fetch>[0], init?: RequestInit): Promise<Response> =>
    (undiciFetch as unknown as (input: unknown, init: object) => Promise<Response>)(input, {
      ...init,
      dispatcher,
    })
  return async (input, init = {}) => {
    const { method = 'GET', body, headers, signal } = init
    if (input instanceof Request || (typeof body !== 'string' && body !== undefined && body !== null))
      return rare(input, init)
    signal?.throwIfAborted()
    try {
      const { origin, pathname, search } = new URL(input)
      const answer = await dispatcher.request({
        origin,
        path: pathname + search,
        method: method as Dispatcher.HttpMethod,
        headers: { ...Object.fromEntries(new Headers(headers)), 'accept-encoding': 'identity' },
        body: body ?? null,
        signal: signal ?? null,
      })
      if (!isRedirect(answer.statusCode)) return toResponse(answer)
      drop(answer.body)
    } catch (thrown) {
      signal?.throwIfAborted()
      throw new TypeError('fetch failed', { cause: thrown })
    }
    return rare(input, init)
  }
}

function toResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Response {
  const said = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const each of [value ?? []].flat()) said.append(name, each)
  const decode = DECODERS[said.get('content-encoding')?.trim().toLowerCase() ?? '']
  const plain: Readable = decode === undefined ? body : body.compose(decode())
  if (!BODILESS.includes(statusCode)) return new Response(toWeb(plain), { status: statusCode, headers: said })
  drop(body)
  return new Response(null, { status: statusCode, headers: said })
}

/** Nobody wants what is left; that it was broken off is told as an error, to nobody. */
const drop = (body: Readable): void => void body.on('error', () => undefined).destroy()

function toWeb(body: Readable): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        body
          .on('data', (piece: Uint8Array) => {
            controller.enqueue(piece)
            if ((controller.desiredSize ?? 0) <= 0) body.pause()
          })
          .on('end', () => controller.close())
          // As fetch calls it.
          .on('error', cause => controller.error(new TypeError('terminated', { cause })))
      },
      pull: () => void body.resume(),
      cancel: () => void body.destroy(),
    },
    new CountQueuingStrategy({ highWaterMark: MOST_WAITING }),
  )
}
