/** Who was behind a credential that was checked a moment ago. */
import type { Principal } from '@cairn/protocol'
import type { UserClaims } from './user-tokens.ts'

export type Identity = {
  principal: Principal
  by: 'token' | 'cookie' | 'service_account'
  /** The login behind a user, where it is one of ours. */
  loginId: string | null
  /** The cookie has been extended and should be set again. */
  renewedCookie: string | null
}
/** An identity, and what is needed to know it again. */
export type Identified = {
  identity: Identity
  /** Epoch milliseconds: a date, as the token has it. */
  expiresAt: number
  claims: UserClaims | null
}
type Remembered = Identified & {
  /** Of the monotonic clock: a revocation elsewhere must be seen in time whatever the date says. */
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
    /** Nothing counts any more; the claims of tokens stay checked. */
    forget(): void {
      for (const entry of remembered.values()) entry.until = -Infinity
    },
  }
}
