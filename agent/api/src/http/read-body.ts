/**
 * Reads a request body: counted while it arrives, then checked as UTF-8, JSON and against its schema. Each
 * error says where.
 */
import { isUtf8 } from 'node:buffer'
import { AppError, MAX_DEPTH, type Route } from '@cairn/protocol'
import { z } from 'zod'
import type { Exchange } from './exchange.ts'
import { findJsonError, nestingDepth } from './json-text.ts'

const MAX_BODY = 1024 * 1024
/**
 * Bytes of a rejected body that are read and discarded to keep the connection usable; beyond that the
 * connection ends.
 */
const MAX_DISCARD = 10 * 1024 * 1024

const tooLarge = (most: number): AppError =>
  new AppError(
    'body_too_large',
    `Request body too large: must be at most ${most} bytes (${most / 1024 / 1024} MiB).`,
  )

/** Rejects by the announced length before a byte is read, also on routes without a body. */
export function checkLength({ req }: Exchange, most = MAX_BODY): void {
  const length = Number(req.headers['content-length'] ?? 0)
  if (length > most) throw tooLarge(most)
}

/** `most` is for routes with a larger limit than the API's. */
export function readBody(exchange: Exchange, most = MAX_BODY): Promise<Buffer> {
  const { req, res } = exchange
  if (exchange.expectsContinue) res.writeContinue()
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= most) chunks.push(chunk)
      else {
        chunks.length = 0
        reject(tooLarge(most))
        if (size > most + MAX_DISCARD) req.socket.destroy()
      }
    })
    req.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const cut = (cause?: Error): void =>
      reject(
        new AppError('bad_request', 'The connection closed before the request body was complete.', { cause }),
      )
    req.on('error', cut)
    req.on('close', () => {
      if (!req.complete) cut()
    })
  })
}

/** Drains the unread body after an early response, or ends the connection if that would take long. */
export function discardBody({ req, res, expectsContinue }: Exchange): void {
  if (req.complete || req.readableEnded) return
  const announced = Number(req.headers['content-length'] ?? 0)
  let size = 0
  req.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > MAX_BODY + MAX_DISCARD) req.socket.destroy()
  })
  req.on('error', () => res.destroy())
  // A client that waits for "100 Continue" may send the body or not, so the next bytes are ambiguous.
  if ((expectsContinue || announced > MAX_BODY + MAX_DISCARD) && !res.headersSent)
    res.setHeader('connection', 'close')
  req.resume()
}

function checkContentType({ req }: Exchange): void {
  const type = req.headers['content-type']
  if (type === undefined || !/^\s*application\/json\s*(?:;|$)/i.test(type)) {
    throw new AppError(
      'unsupported_media_type',
      'Invalid content type ' +
        `${type === undefined ? '(none)' : JSON.stringify(type.slice(0, 80))}: must be application/json.`,
    )
  }
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new AppError('bad_request', 'Invalid request body: not valid UTF-8.')
  const text = bytes.toString('utf8')
  if (nestingDepth(text) > MAX_DEPTH)
    throw new AppError('bad_request', `Invalid request body: nested deeper than ${MAX_DEPTH} levels.`)
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const found = findJsonError(text)
    throw new AppError(
      'bad_request',
      found === null
        ? 'Invalid request body: not valid JSON.'
        : `Invalid request body: not valid JSON: at position ${found.position}, expected ${found.expected}.`,
      { cause: error },
    )
  }
}

export type FieldError = { path: string; message: string }

/** Zod issues as the problem document lists them; for a union, those of the alternative that fits best. */
export function fieldErrors(
  issues: readonly z.core.$ZodIssue[],
  at: readonly PropertyKey[] = [],
): FieldError[] {
  return issues.flatMap(issue => {
    const path = [...at, ...issue.path]
    if (issue.code === 'invalid_union' && issue.errors.length > 0) {
      const best = [...issue.errors].toSorted((a, b) => a.length - b.length)[0]
      if (best) return fieldErrors(best, path)
    }
    return [{ path: path.map(String).join('.'), message: issue.message }]
  })
}

function checkBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const errors = fieldErrors(parsed.error.issues)
  const first = errors[0]
  throw new AppError(
    'invalid_body',
    first === undefined ? 'Invalid request body.' : `${first.path || 'body'}: ${first.message}`,
    { extra: { errors } },
  )
}

const NO_BYTES: Buffer = Buffer.alloc(0)
const NO_KEYS = z.strictObject({})

/** A body may be absent if all its keys are optional. */
export const mayBeAbsent = (schema: z.ZodType): boolean => schema.safeParse({}).success

const hasBody = ({ req }: Exchange): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

/** The validated body of a request, and its bytes. A route without a body accepts an empty object too. */
export async function takeBody(
  { method, body: schema, maxBytes }: Route,
  exchange: Exchange,
): Promise<{ bytes: Buffer; body: unknown }> {
  if (method === 'GET') return { bytes: NO_BYTES, body: undefined }
  const isGiven = hasBody(exchange)
  if (!isGiven && schema === undefined) return { bytes: NO_BYTES, body: undefined }
  if (!isGiven && schema !== undefined && mayBeAbsent(schema))
    return { bytes: NO_BYTES, body: checkBody(schema, {}) }
  checkContentType(exchange)
  const bytes = await readBody(exchange, maxBytes)
  const body = checkBody(schema ?? NO_KEYS, parseJson(bytes))
  return { bytes, body: schema === undefined ? undefined : body }
}
