/**
 * Web Push of one person: the key pair of their organisation, made on first use, and the browsers that
 * subscribed. Both are stored encrypted; the private key and the keys of a browser leave no route.
 */
import { createECDH, createHash } from 'node:crypto'
import type { PushStore } from '@cairn/log'
import { AppError, type BodyOf, type Principal } from '@cairn/protocol'
import { z } from 'zod'
import type { Sealing } from '../sealing.ts'

/** Documented in `docs/notifications.md`. */
const MAX_BROWSERS = 20

const Subscription = z.object({
  endpoint: z.string(),
  keys: z.object({ p256dh: z.string(), auth: z.string() }),
})
export type PushTarget = { id: string } & z.infer<typeof Subscription>
/** Both in base64url, as push services expect them. */
export type PushKeys = { publicKey: string; privateKey: string }

type PushDeps = { store: { push: PushStore }; sealing: Sealing }

const aboutKey = (orgId: string): string => `push key of ${orgId}`
const aboutTarget = (userId: string, id: string): string => `push subscription ${id} of ${userId}`

const base64url = (bytes: Buffer): string => bytes.toString('base64url')

function makeKeys(): PushKeys {
  const pair = createECDH('prime256v1')
  const publicKey = base64url(pair.generateKeys())
  const privateKey = pair.getPrivateKey()
  return {
    publicKey,
    privateKey: base64url(Buffer.concat([Buffer.alloc(32 - privateKey.length), privateKey])),
  }
}

/**
 * The key pair of an organisation. It is made on first use; and again when the key of the data directory was
 * replaced, which ends all subscriptions.
 */
export async function pushKeys({ store: { push }, sealing }: PushDeps, orgId: string): Promise<PushKeys> {
  const known = await push.key(orgId)
  const privateKey = known === null ? null : sealing.open(aboutKey(orgId), known.sealed)
  if (known !== null && privateKey !== null) return { publicKey: known.public_key, privateKey }
  const made = makeKeys()
  const row = { public_key: made.publicKey, sealed: sealing.seal(aboutKey(orgId), made.privateKey) }
  if (known === null) await push.addKey(orgId, row)
  else await push.replaceKey(orgId, known.public_key, row)
  // Another process may have been first.
  const kept = await push.key(orgId)
  const opened = kept === null ? null : sealing.open(aboutKey(orgId), kept.sealed)
  if (kept === null || opened === null)
    throw new Error(
      `[push] the key of ${orgId} was sealed with another CAIRN_SECRETS_KEY than this process has`,
    )
  return { publicKey: kept.public_key, privateKey: opened }
}

/** The id of a subscription, which a browser can compute from its own address. */
const idOf = (endpoint: string): string => createHash('sha256').update(endpoint).digest('hex').slice(0, 32)

export async function addPushBrowser(
  { store: { push }, sealing }: PushDeps,
  { id: userId }: Pick<Principal, 'id'>,
  subscription: BodyOf<'subscribePush'>,
): Promise<void> {
  const id = idOf(subscription.endpoint)
  const sealed = sealing.seal(aboutTarget(userId, id), JSON.stringify(subscription))
  if (!(await push.subscribe(userId, { id, sealed }, MAX_BROWSERS)))
    throw new AppError('limit_reached', `At most ${MAX_BROWSERS} browsers can be subscribed: remove one.`)
}

/** The browsers of a person, for sending. One that cannot be opened any more is removed. */
export async function pushTargets(
  { store: { push }, sealing }: PushDeps,
  userId: string,
): Promise<PushTarget[]> {
  const targets: PushTarget[] = []
  for (const { id, sealed } of await push.subscriptions(userId)) {
    const opened = sealing.open(aboutTarget(userId, id), sealed)
    if (opened === null) await push.unsubscribe(userId, id)
    else targets.push({ id, ...Subscription.parse(JSON.parse(opened)) })
  }
  return targets
}
