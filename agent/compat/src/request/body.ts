/** The JSON body of a request, checked against its schema. */
import { isUtf8 } from 'node:buffer'
import { AppError, MAX_DEPTH, nestsTooDeep } from '@cairn/protocol'
import type { z } from 'zod'

export const parseBody = <T>(schema: z.ZodType<T>, raw: Uint8Array): T => checkValue(schema, parseJson(raw))

/** A part of a body that was parsed loosely. */
export function checkValue<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.map(({ path, message }) => ({
    path: path.map(String).join('.'),
    message,
  }))
  const [first] = errors
  throw new AppError('invalid_body', `${first?.path || 'body'}: ${first?.message ?? 'invalid'}`, {
    extra: { errors },
  })
}

function parseJson(raw: Uint8Array): unknown {
  if (!isUtf8(raw)) throw new AppError('bad_request', 'Invalid request body: not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(raw).toString('utf8'))
  } catch (error) {
    throw new AppError('bad_request', 'Invalid request body: not valid JSON.', { cause: error })
  }
  if (nestsTooDeep(value))
    throw new AppError('bad_request', `Invalid request body: nested deeper than ${MAX_DEPTH} levels.`)
  return value
}
