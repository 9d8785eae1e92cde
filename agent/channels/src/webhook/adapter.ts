/** The generic webhook, signed in both directions according to Standard Webhooks. */
import { createHash } from 'node:crypto'
import { AppError } from '@cairn/protocol'
import { type Adapter, type Call, type Inbound, type OutgoingPart, SendFailed } from '../adapter.ts'
import { failureOfStatus } from '../answered-status.ts'
import { lostCall } from '../lost-call.ts'
import { retryAfterMs } from '../retry-after.ts'
import type { Answer, Send } from '../send-request.ts'
import { createSignatures } from '../standard-webhooks.ts'
import { WebhookMessage, type WebhookPart } from './messages.ts'

const SEND_MS = 15_000
/** Characters of a webhook-id: it is the key of a row, and Postgres indexes keys of limited size only. */
const ID_LENGTH_MAX = 256

export type WebhookOptions = {
  connectionId: string
  secret: string
  callbackUrl: string
  fetch: Send
}

export function createWebhookAdapter({ connectionId, secret, callbackUrl, fetch }: WebhookOptions): Adapter {
  const signatures = createSignatures(secret)
  return {
    platform: 'webhook',
    // Callers of one webhook say nothing about the users of another.
    workspace: connectionId,
    limits: { text: 100_000, fileBytesIn: 0, fileBytesOut: 0, updateEveryMin: 1 },
    delivery: 'keyed',
    webhook: {
      methods: ['POST'],
      bodyLimit: 1024 * 1024,
      verify(call) {
        signatures.verify(call, Date.now())
        return null
      },
      parse: call => [parseMessage(call)],
    },
    send: (part, key, signal) => post(part, key, signal),
    address: to => ({ conversation_key: to, target: { conversation_id: to } }),
  }

  async function post(
    part: OutgoingPart,
    key: string,
    signal: AbortSignal,
  ): Promise<{ message_id: string | null }> {
    const body = JSON.stringify(shown(part))
    const response = await fetch(callbackUrl, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        ...signatures.headersFor(key, Date.now(), body),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(SEND_MS)]),
    }).catch((error: unknown) => Promise.reject(lostCall('the callback', error)))
    await response.body?.cancel()
    judge(response)
    return { message_id: null }
  }
}

function parseMessage({ raw, headers }: Call): Inbound {
  const id = headers.get('webhook-id') ?? ''
  if (id.length > ID_LENGTH_MAX)
    throw new AppError('bad_request', `Invalid webhook-id: must have at most ${ID_LENGTH_MAX} characters.`)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
  } catch (error) {
    throw new AppError('bad_request', 'Invalid request body: not valid JSON in UTF-8.', { cause: error })
  }
  const parsed = WebhookMessage.safeParse(value)
  if (!parsed.success) {
    const errors = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
    throw new AppError(
      'invalid_body',
      errors.map(({ path, message }) => `${path || 'body'}: ${message}`).join('; '),
      { extra: { errors } },
    )
  }
  const { conversation_id, user_id, user_name, text, press, language } = parsed.data
  return {
    event_key: id,
    conversation_key: conversation_id,
    target: { conversation_id },
    source: {
      platform: 'webhook',
      chat_id: conversation_id,
      chat_type: 'dm',
      user_id,
      user_name: user_name ?? null,
      thread_id: null,
      ts: `${headers.get('webhook-timestamp') ?? '0'}.${shortHash(id)}`,
    },
    text,
    ...(press === undefined ? {} : { press }),
    ...(language === undefined ? {} : { language }),
  }
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8)

const shown = ({ type, conversation_key, part, text, event_id, prompt }: OutgoingPart): WebhookPart => ({
  type,
  conversation_id: conversation_key,
  part,
  text,
  ...(event_id === undefined ? {} : { event_id }),
  ...(prompt === undefined ? {} : { prompt }),
})

/** Classifies a response without a 2xx status. */
function judge({ status, headers }: Pick<Answer, 'status' | 'headers'>): void {
  if (status >= 200 && status < 300) return
  const said = `the callback returned ${status}`
  if (status === 410) throw new SendFailed('gone', said)
  if (status === 401 || status === 403) throw new SendFailed('unauthorized', said)
  if (status === 429) {
    const afterMs = retryAfterMs(headers.get('retry-after') ?? '', Date.now())
    throw new SendFailed('rate_limited', said, afterMs === null ? {} : { afterMs })
  }
  throw new SendFailed(failureOfStatus(status), said)
}
