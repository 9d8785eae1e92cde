/** Classifies errors of the Bot API. No message here contains a URL, because it would hold the token. */
import { GrammyError, HttpError } from 'grammy'
import { ConsumeFailed, SendFailed } from '../adapter.ts'

/** Errors before the request was sent. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

function codeOf(thrown: unknown): string {
  const inner = thrown instanceof HttpError ? thrown.error : thrown
  for (let at: unknown = inner; at instanceof Error; at = at.cause)
    if ('code' in at && typeof at.code === 'string') return at.code
  return ''
}

export function sendFailed(thrown: unknown): SendFailed {
  if (!(thrown instanceof GrammyError)) {
    const code = codeOf(thrown)
    return NOT_SENT.includes(code)
      ? new SendFailed('transient', `cannot connect to Telegram (${code})`)
      : new SendFailed('unknown', 'Telegram did not respond')
  }
  const { error_code, description, parameters, method } = thrown
  const said = `Telegram returned ${error_code}: ${description}`
  if (error_code === 429)
    return new SendFailed('rate_limited', said, {
      scope: 'conversation',
      ...(parameters.retry_after === undefined ? {} : { afterMs: parameters.retry_after * 1000 }),
    })
  if (error_code === 401) return new SendFailed('unauthorized', said)
  // A server with an older Bot API does not have rich messages.
  if (error_code === 404)
    return new SendFailed(method === 'sendRichMessage' ? 'bad_format' : 'unauthorized', said)
  // Or it finds no text in one: edits have no separate method for rich messages.
  if (error_code === 400 && /parse|rich|entit|text is empty/i.test(description))
    return new SendFailed('bad_format', said)
  return new SendFailed(error_code >= 500 ? 'unknown' : 'permanent', said)
}

export function consumeFailed(thrown: unknown): ConsumeFailed {
  if (!(thrown instanceof GrammyError)) return new ConsumeFailed('lost', 'Telegram does not respond')
  const { error_code, description } = thrown
  if (error_code === 409)
    return new ConsumeFailed(
      'conflict',
      'Another program receives the messages of this bot with the same token: stop it, or ' +
        'get a new token from @BotFather.',
    )
  if (error_code === 401 || error_code === 404)
    return new ConsumeFailed('unauthorized', 'Telegram rejected the token: get it again from @BotFather.')
  return new ConsumeFailed('lost', `Telegram returned ${error_code}: ${description}`)
}

/** An edit without a change counts as successful. */
export const isSame = (thrown: unknown): boolean =>
  thrown instanceof GrammyError && thrown.description.includes('message is not modified')
