/** Request bodies of the frame. */
import { AppError } from '@cairn/protocol'
import { z } from 'zod'

export const BeginBody = z.strictObject({
  key: z.string().max(100),
  identity: z.string().max(4_000).optional().describe('a JWT that the host page signed'),
  language: z.string().max(20).optional().describe('of the browser'),
  no_cookies: z.boolean().optional().describe('return the token in the response, to be sent as a header'),
})
export const MessageBody = z
  .strictObject({
    content: z.string().max(20_000),
    uploads: z
      .array(z.string().max(120))
      .max(10)
      .default([])
      .describe('IDs of files that were uploaded before'),
  })
  .refine(({ content, uploads }) => uploads.length > 0 || /[^\s\u200b-\u200d\u2060]/.test(content), {
    path: ['content'],
    message: 'must not be blank',
  })
export const RespondBody = z.strictObject({
  responses: z
    .array(z.strictObject({ question: z.string().max(20_000), answer: z.string().min(1).max(20_000) }))
    .min(1)
    .max(20),
})

export function bodyOf<S extends z.ZodType>(
  { headers, raw }: { headers: Headers; raw: Uint8Array },
  schema: S,
): z.output<S> {
  // CSRF protection: a form of another site cannot send JSON without a preflight request.
  if (!(headers.get('content-type') ?? '').startsWith('application/json'))
    throw new AppError('unsupported_media_type', 'Invalid content type: must be application/json.')
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
  } catch (error) {
    throw new AppError('bad_request', 'Invalid request body: not valid JSON in UTF-8.', { cause: error })
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const detail = errors.map(({ path, message }) => `${path || 'body'}: ${message}`).join('; ')
  throw new AppError('invalid_body', detail, { extra: { errors } })
}
