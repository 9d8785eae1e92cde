/**
 * Web Push: the key pair with which an organisation identifies itself to push services, and the subscriptions
 * of its people, one for each browser. Secrets are encrypted by the caller. Times are epoch milliseconds.
 */
import { createAsking, onBothStores } from '../../engine/named-sql.ts'
import type { AskNamed } from '../../engine/resource.ts'
import { PUSH_SQL, type PushStatement } from './sql.ts'

/** `sealed` is the private key, encrypted by the caller. */
type PushKey = { public_key: string; sealed: string }
type PushSubscription = {
  /** Derived from the address at the push service. */
  id: string
  /** The address and the keys of the browser, encrypted by the caller. */
  sealed: string
  created_at: number
}

export type PushStore = {
  key(orgId: string): Promise<PushKey | null>
  /** Does nothing if there is one. */
  addKey(orgId: string, key: PushKey): Promise<void>
  /**
   * Replaces a key that cannot be opened any more, and deletes all subscriptions, which are bound to it.
   * Does nothing if another process replaced it first.
   */
  replaceKey(orgId: string, publicKey: string, key: PushKey): Promise<void>
  subscriptions(userId: string): Promise<PushSubscription[]>
  /** False: the person has `max` subscriptions already. */
  subscribe(userId: string, subscription: Omit<PushSubscription, 'created_at'>, max: number): Promise<boolean>
  unsubscribe(userId: string, id: string): Promise<boolean>
}

type Stored = Omit<PushSubscription, 'created_at'> & { created_at: unknown }

function createPushStore(ask: AskNamed<PushStatement>, now: () => number): PushStore {
  const { all, one, act, did } = createAsking(ask)
  return {
    key: orgId => one('pushKey', orgId),
    addKey: (orgId, { public_key, sealed }) => act('addPushKey', orgId, public_key, sealed, now()),
    async replaceKey(orgId, publicKey, { public_key, sealed }) {
      if (await did('replacePushKey', orgId, publicKey, public_key, sealed, now()))
        await act('removePushSubscriptions', orgId)
    },
    subscriptions: async userId =>
      (await all<Stored>('pushSubscriptions', userId)).map(({ id, sealed, created_at }) => ({
        id,
        sealed,
        created_at: Number(created_at),
      })),
    subscribe: (userId, { id, sealed }, max) => did('addPushSubscription', userId, id, sealed, now(), max),
    unsubscribe: (userId, id) => did('removePushSubscription', userId, id),
  }
}

export const push = onBothStores<never, PushStore, PushStatement>(PUSH_SQL, {}, createPushStore)
