/** The notification methods: a signed call to a person's webhook, an email, a message to their browsers. */
import { SendFailed } from '../adapter.ts'
import { sendFailed } from '../email/failures.ts'
import type { Smtp } from '../email/transport.ts'
import { retryAfterMs } from '../retry-after.ts'
import type { Send } from '../send-request.ts'
import { createSignatures } from '../standard-webhooks.ts'
import { ATTEMPT_MS, refusedOrLost } from './attempt.ts'
import { type PushCall, pushWith } from './push.ts'
import type { Letter, NotificationBody } from './text.ts'

export type Ways = {
  /** `id` is the same at every attempt. All methods throw SendFailed. */
  call(id: string, to: { url: string; secret: string }, body: NotificationBody): Promise<void>
  /** Null if no SMTP server is configured. */
  mail: ((id: string, address: string, letter: Letter) => Promise<void>) | null
  push: PushCall
}

export type Mailing = { smtp: Smtp; from: string; name: string }

/** `contact` is where a push service reaches the operator: an https or mailto URL. */
export const openWays = (fetch: Send, mailing: Mailing | null, contact: string, now: () => number): Ways => ({
  push: pushWith(fetch, contact, now),
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
    }).catch((error: unknown) => Promise.reject(refusedOrLost('the webhook', error)))
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
