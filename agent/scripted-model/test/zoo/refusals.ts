/** The bodies of refusals, one shape per kind of server. */
import type { ErrorShape, Words } from './profile.ts'
import type { Fault } from './requests.ts'

type Json = Readonly<Record<string, unknown>>
type Shape = (message: string, words: Words) => Json | readonly Json[]

const openai: Shape = (message, [, , code, param]) => ({
  error: { message, type: 'invalid_request_error', param: param ?? null, code: code ?? null },
})

const SHAPES: Readonly<Record<ErrorShape, Shape>> = {
  openai,
  anthropic: message => ({
    type: 'error',
    error: { type: 'invalid_request_error', message },
    request_id: 'r',
  }),
  flat: (message, [status, , code, param]) => ({
    object: 'error',
    message,
    type: 'BadRequestError',
    param: param ?? null,
    code: code ?? status,
  }),
  bare: (message, [, , code, param]) => ({ message, type: 'invalid_request_error', param, code }),
  list: (message, [status, , code]) => [{ error: { code: status, message, status: code } }],
  string: message => ({ error: message, error_type: 'validation' }),
  detail: message => ({ detail: message }),
  fastapi: (message, [, , code, param]) => ({
    detail: [{ type: code, loc: ['body', ...(param === undefined ? [] : [param])], msg: message }],
  }),
  wrapped: (message, words) => ({
    error: {
      message: 'Provider returned error',
      code: words[0],
      metadata: { raw: JSON.stringify(openai(message, words)), provider_name: 'X' },
    },
    user_id: 'u',
  }),
  errors: (message, [, , code]) => ({
    success: false,
    result: null,
    messages: [],
    errors: [{ code: Number(code), message }],
  }),
  numbered: (message, [, , code]) => ({ error: { code: code ?? 'invalid-argument', message } }),
}

export type SentRefusal = { status: number; body: string }

/** Fills what was found into the words of the server. */
export function refusalBody(shape: ErrorShape, words: Words, { found, at = 0 }: Fault): SentRefusal {
  const message = words[1].replaceAll('$', () => found).replaceAll('#', String(at))
  return { status: words[0], body: JSON.stringify(SHAPES[shape](message, words)) }
}
