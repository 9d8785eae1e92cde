/** Cache of recently verified credentials. */
import type { Principal } from '@cairn/protocol'
import type { UserClaims } from './user-tokens.ts'

export type Identity = {
  principal: Principal
  by: 'token' | 'cookie' | 'service_account'
  /** The login of a user; null for other credentials and for tokens without a login. */
  loginId: string | null
  /** The cookie was extended and must be set again. */
  renewedCookie: string | null
}
/** An identity with what is needed to cache it. */
export type Identified = {
  identity: Identity
  /** Epoch milliseconds, from the token. */
  expiresAt: number
  claims: UserClaims | null
}
type Remembered = Identified & {
  /** Monotonic time: revocations by other processes must be noticed in time whatever the wall clock says. */
  until: number
}

const TRUST_MS = 1_000
const CAPACITY = 20_000

export function rememberIdentities({ now, monotonic }: { now: () => number; monotonic: () => number }) {
  const remembered = new Map<string, Remembered>()
  return {
    get: (credential: string): Remembered | undefined => remembered.get(credential),
    isGood: ({ until, expiresAt }: Remembered): boolean => until > monotonic() && expiresAt > now(),
    keep(credential: string, found: Identified): Identity {
      if (remembered.size >= CAPACITY) remembered.clear()
      remembered.set(credential, { ...found, until: monotonic() + TRUST_MS })
      return found.identity
    },
    /** Invalidates all entries; the verified claims of tokens are kept. */
    forget(): void {
      for (const entry of remembered.values()) entry.until = -Infinity
    },
  }
}
