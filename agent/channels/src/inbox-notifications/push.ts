/**
 * Web Push (RFC 8030, 8291, 8292): a message to each browser of a person, encrypted for it, through the push
 * service of its maker. A browser that has ended its subscription is removed.
 */
import { createHash } from 'node:crypto'
import { pushKeys, type PushKeys, pushTargets, type PushTarget, type Sealing } from '@cairn/sessions'
import type { LogStore } from '@cairn/log'
import { SendFailed } from '../adapter.ts'
import { retryAfterMs } from '../retry-after.ts'
import type { Send } from '../send-request.ts'
import { ATTEMPT_MS, refusedOrLost } from './attempt.ts'
import { encryptFor, signFor } from './push-message.ts'

/** `topic` lets a push service, and the browser, replace an earlier message about the same item. */
export type PushCall = (to: PushTarget, keys: PushKeys, topic: string, text: string) => Promise<void>

/** A subscription with an invalid key can never receive. */
function encrypt(browser: PushTarget['keys'], text: string): Buffer {
  try {
    return encryptFor(browser, text)
  } catch (error) {
    throw new SendFailed('gone', 'the key of the browser is not valid', { cause: error })
  }
}

/** How long a push service keeps a message for a browser that is offline. */
const TTL_S = 24 * 60 * 60

export const pushWith =
  (fetch: Send, contact: string, now: () => number): PushCall =>
  async ({ endpoint, keys: browser }, keys, topic, text) => {
    const answer = await fetch(endpoint, {
      method: 'POST',
      // The target of a redirect has not been checked.
      redirect: 'manual',
      headers: {
        authorization: await signFor(endpoint, keys, contact, now()),
        'content-encoding': 'aes128gcm',
        'content-type': 'application/octet-stream',
        ttl: String(TTL_S),
        urgency: 'high',
        topic,
      },
      body: new Uint8Array(encrypt(browser, text)),
      signal: AbortSignal.timeout(ATTEMPT_MS),
    }).catch((error: unknown) => Promise.reject(refusedOrLost('the push service', error)))
    // The status alone counts, so a body that cannot be cancelled changes nothing.
    void answer.body?.cancel().catch(() => undefined)
    const { status } = answer
    if (status >= 200 && status < 300) return
    const afterMs = retryAfterMs(answer.headers.get('retry-after') ?? '', now())
    throw new SendFailed(
      // 403: the subscription belongs to another key.
      status === 404 || status === 410 || status === 403
        ? 'gone'
        : status === 429 || status >= 500
          ? 'transient'
          : 'permanent',
      `the push service returned ${status}`,
      afterMs === null ? {} : { afterMs },
    )
  }

/** At most 32 characters of base64url. */
const topicOf = (about: string): string => createHash('sha256').update(about).digest('base64url').slice(0, 32)

type PushDeps = { store: Pick<LogStore, 'push'>; sealing: Sealing; ways: { push: PushCall } }

/**
 * Sends to every browser of the person. One that accepted is enough; otherwise throws the failure of the last
 * one. A retry after a partial failure replaces the earlier message by its topic.
 */
export async function pushToBrowsers(
  deps: PushDeps,
  { user_id, org_id }: { user_id: string; org_id: string },
  about: string,
  text: string,
): Promise<void> {
  const keys = await pushKeys(deps, org_id)
  let isAccepted = false
  let failure = new SendFailed('gone', 'no browser is subscribed any more')
  for (const target of await pushTargets(deps, user_id))
    try {
      await deps.ways.push(target, keys, topicOf(about), text)
      isAccepted = true
    } catch (error) {
      if (!(error instanceof SendFailed)) throw error
      if (error.failure === 'gone') await deps.store.push.unsubscribe(user_id, target.id)
      else failure = error
    }
  if (!isAccepted) throw failure
}
