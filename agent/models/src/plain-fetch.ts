/**
 * A fetch for answers that arrive in hundreds of small pieces. Undici's own passes each through an iterator
 * and a byte stream, at twice the cost of undici's request; rare cases (a redirect, a stream as the body) are
 * left to it. The result can be read without promises: `PlainResponse`.
 */
import type { Duplex, Readable } from 'node:stream'
import zlib from 'node:zlib'
import { type Dispatcher, fetch as undiciFetch } from 'undici'

export type Fetch = typeof globalThis.fetch

/** Statuses without a body (Fetch standard, null body status). */
const BODILESS = [101, 204, 205, 304]
const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** Decoders flush what has arrived, as an event stream needs. */
const flushed = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
/** Compression is not requested, but some servers use it anyway. */
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
    } catch (error) {
      signal?.throwIfAborted()
      throw new TypeError('fetch failed', { cause: error })
    }
    return rare(input, init)
  }
}

/**
 * A response whose bytes can be read without its web stream, which takes two promises per piece. Use only one
 * of the two.
 */
export class PlainResponse extends Response {
  readonly pieces: Readable
  constructor(pieces: Readable, init: ResponseInit) {
    super(toWeb(pieces), init)
    this.pieces = pieces
  }
}

/** The error that fetch throws when the connection breaks within the body. */
export const terminated = (cause: unknown): TypeError => new TypeError('terminated', { cause })

function toResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Response {
  const said = new Headers()
  for (const [name, value] of Object.entries(headers))
    for (const each of [value ?? []].flat()) said.append(name, each)
  const init = { status: statusCode, headers: said }
  if (BODILESS.includes(statusCode)) {
    drop(body)
    return new Response(null, init)
  }
  const decode = DECODERS[said.get('content-encoding')?.trim().toLowerCase() ?? '']
  const plain = decode === undefined ? body : body.compose(decode())
  // The body may fail before it is read; the reader gets the error then.
  return new PlainResponse(
    plain.on('error', () => undefined),
    init,
  )
}

/** Discards the rest of a body; the resulting error is ignored. */
const drop = (body: Readable): void => void body.on('error', () => undefined).destroy()

/** Reads nothing before it is consumed. */
function toWeb(body: Readable): ReadableStream<Uint8Array> {
  let isRead = false
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (body.errored !== null) throw terminated(body.errored)
        if (isRead) return void body.resume()
        isRead = true
        body
          .on('data', (piece: Uint8Array) => {
            controller.enqueue(piece)
            body.pause()
          })
          .on('end', () => controller.close())
          .on('error', cause => controller.error(terminated(cause)))
      },
      cancel: () => void body.destroy(),
    },
    { highWaterMark: 0 },
  )
}
