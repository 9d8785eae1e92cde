/**
 * Connections that outlive their request: event streams and live views. Each ends once the login or account
 * behind it has ended, here or in another process.
 */
import type { Logger } from '../logger.ts'
import type { Identity } from './authenticate.ts'

export type StandingWatch = {
  /** `end` is called once, when the credential has ended. Returns a function that stops the watch. */
  add(identity: Identity, end: () => void): () => void
  /** Checks every connection now: callers that revoke a credential do not wait for the next interval. */
  check(): Promise<void>
  stop(): void
}

type WatchDeps = { isStanding: (identity: Identity) => Promise<boolean>; everyMs: number; log: Logger }

export function createStandingWatch({ isStanding, everyMs, log }: WatchDeps): StandingWatch {
  const watched = new Set<{ identity: Identity; end: () => void }>()

  async function check(): Promise<void> {
    const verdicts = new Map<string, Promise<boolean>>()
    for (const each of watched) {
      const { principal, loginId } = each.identity
      const who = `${principal.id} ${loginId ?? ''}`
      const verdict = verdicts.get(who) ?? isStanding(each.identity)
      verdicts.set(who, verdict)
      if (!(await verdict) && watched.delete(each)) each.end()
    }
  }

  const checking = setInterval(() => {
    check().catch((error: unknown) =>
      log.warn('could not check the credentials of open connections', { error: String(error) }),
    )
  }, everyMs)
  checking.unref()

  return {
    add(identity, end) {
      const entry = { identity, end }
      watched.add(entry)
      return () => void watched.delete(entry)
    },
    check,
    stop: () => clearInterval(checking),
  }
}
