/** The two notification methods: a signed call to a person's webhook, an email to their address. */
import { SendFailed } from '../adapter.ts'
import { sendFailed } from '../email/failures.ts'
import type { Smtp } from '../email/transport.ts'
import { lostCall } from '../lost-call.ts'
import { retryAfterMs } from '../retry-after.ts'
import type { Send } from '../send-request.ts'
import { createSignatures } from '../standard-webhooks.ts'
import type { Letter, NotificationBody } from './text.ts'

/** Timeout of an attempt: well within the lease. */
const ATTEMPT_MS = 20_000

export type Ways = {
  /** `id` is the same at every attempt. Both methods throw SendFailed. */
  call(id: string, to: { url: string; secret: string }, body: NotificationBody): Promise<void>
  /** Null if no SMTP server is configured. */
  mail: ((id: string, address: string, letter: Letter) => Promise<void>) | null
}

export type Mailing = { smtp: Smtp; from: string; name: string }

export const openWays = (fetch: Send, mailing: Mailing | null, now: () => number): Ways => ({
  async call(id, { url, secret }, body) {
    const text = JSON.stringify(body)
    const answer = await fetch(url, {
      method: 'POST',
      // The target of a redirect has not been checked.
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        ...createSignatures(secret).headersFor(id, now(), text),
      },
      body: text,
      signal: AbortSignal.timeout(ATTEMPT_MS),
    }).catch((error: unknown) => Promise.reject(refusedOrLost(error)))
    // The body of the response is ignored, and so is its end.
    void answer.body?.cancel().catch(() => undefined)
    if (answer.status >= 200 && answer.status < 300) return
    const said = `the webhook returned ${answer.status}`
    const afterMs = retryAfterMs(answer.headers.get('retry-after') ?? '', now())
    throw new SendFailed(
      answer.status === 410 ? 'gone' : 'transient',
      said,
      afterMs === null ? {} : { afterMs },
    )
  },
  mail: mailing === null ? null : mailFrom(mailing),
})

/** Egress rules reject a request at every attempt; fetch rejects without a cause for it. */
function refusedOrLost(thrown: unknown): SendFailed {
  const cause = thrown instanceof Error ? thrown.cause : undefined
  if (thrown instanceof TypeError && cause === undefined)
    return new SendFailed('permanent', thrown.message, { cause: thrown })
  if (cause instanceof Error && cause.name === 'RefusedAddress')
    return new SendFailed('permanent', 'the webhook has an internal address, which is not allowed', {
      cause: thrown,
    })
  return lostCall('the webhook', thrown)
}

function mailFrom({ smtp, from, name }: Mailing): NonNullable<Ways['mail']> {
  let opened: ReturnType<typeof open> | null = null
  /** Opened with the first email, because many servers never send one. */
  const open = async () => (await import('../email/transport.ts')).openTransport(smtp)
  return async (id, to, { subject, text }) => {
    opened ??= open()
    const transport = await opened
    await transport
      .sendMail({
        messageId: `<${id}.notice@${from.slice(from.lastIndexOf('@') + 1)}>`,
        from: { name, address: from },
        to: { name: '', address: to },
        subject,
        text,
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        // Never read a path or URL that a text contains.
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: AbortSignal.timeout(ATTEMPT_MS),
      })
      .catch((error: unknown) => Promise.reject(sendFailed(error)))
  }
}
