/** Request bodies in, JSON bodies out. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { parseExact } from '@cairn-tune/weights'
import { z } from 'zod'
import { ApiError, badRequest } from '../errors.ts'
import { BODY_LIMITS, checkShape, tooMany, type Shape } from './body-shape.ts'

async function readText(request: IncomingMessage): Promise<string> {
  const { bytes: maxBytes } = BODY_LIMITS
  const tooLong = () =>
    new ApiError(413, 'BadRequestError', `The body is larger than the maximum of ${maxBytes} bytes.`)
  // Reject a body that is announced as too long without waiting for it.
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLong()
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.byteLength
    if (bytes > maxBytes) throw tooLong()
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/**
 * Numbers of tools are shown to the model as written, so they keep their text. All other numbers are parsed.
 */
function withExactTools(body: unknown, text: string, { parts, values }: Shape): unknown {
  if (typeof body !== 'object' || body === null || !('tools' in body)) return body
  if (parts + values > BODY_LIMITS.partsWithTools)
    throw tooMany(parts + values, 'values outside of tools', BODY_LIMITS.partsWithTools)
  return { ...body, tools: (parseExact(text) as { tools: unknown }).tools }
}

/**
 * Browsers send bodies of other content types cross-site without a preflight, so those are rejected before
 * they have an effect.
 */
function checkType({ headers: { 'content-type': given = '' } }: IncomingMessage): void {
  if (/^\s*application\/json\s*(?:;|$)/i.test(given)) return
  throw new ApiError(
    415,
    'UnsupportedMediaTypeError',
    `Content-Type must be application/json, got ${given === '' ? 'none' : JSON.stringify(given)}.`,
  )
}

/** Reads and validates a body. */
export async function readBody<S extends z.ZodType>(
  request: IncomingMessage,
  schema: S,
  { maxValues = BODY_LIMITS.values }: { maxValues?: number } = {},
): Promise<z.infer<S>> {
  checkType(request)
  const text = await readText(request)
  const shape = checkShape(text, { ...BODY_LIMITS, values: maxValues })
  let json: unknown
  try {
    json = withExactTools(JSON.parse(text), text, shape)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw badRequest(`The body is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw badRequest(z.prettifyError(parsed.error), issue?.path.length ? issue.path.join('.') : null)
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text)
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text)
}
