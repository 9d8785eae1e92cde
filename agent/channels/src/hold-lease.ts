/** Runs work while this process holds a lease, and releases the lease at the end. */
import type { ChannelRole, ChannelStore } from '@cairn/log'

const TTL_MS = 30_000
const RENEW_MS = 10_000
/** The minimum remaining time of the lease within a pass. */
export const HELD_MS = TTL_MS - RENEW_MS

export type Holding = {
  connectionId: string
  role: ChannelRole
  holder: string
  channels: ChannelStore
  signal: AbortSignal
  onError: (error: unknown) => void
  /** Interval between passes without a notification. */
  pollMs: number
  /** The lease was lost, or the store is unreachable: work that needs the lease must end. */
  onLapse?: () => void
  /** Resolves when the work that passes started has ended; the lease is held until then. */
  idle: () => Promise<void>
}

export type HeldLease = { nudge: () => void; ended: Promise<void> }

/** `pass` handles everything that is due; `epoch` is that of the lease. */
export function holdLease(holding: Holding, pass: (epoch: number) => Promise<void>): HeldLease {
  let wake: () => void = () => undefined
  let isNudged = false
  const nudge = (): void => {
    isNudged = true
    wake()
  }
  const { signal, channels, connectionId, role, holder, onError, onLapse, pollMs, idle } = holding
  signal.addEventListener('abort', nudge, { once: true })

  async function rest(): Promise<void> {
    if (isNudged) return
    const { promise, resolve } = Promise.withResolvers<void>()
    wake = resolve
    const timer = setTimeout(resolve, pollMs)
    await promise
    clearTimeout(timer)
  }

  async function run(): Promise<void> {
    let renewAt = 0
    let epoch: number | null = null
    while (!signal.aborted) {
      isNudged = false
      try {
        if (epoch === null || performance.now() >= renewAt) {
          epoch = await channels.acquire(connectionId, role, holder, TTL_MS)
          if (epoch === null) onLapse?.()
          renewAt = performance.now() + RENEW_MS
        }
        // The signal may have aborted while the lease was being acquired.
        if (epoch !== null && !signal.aborted) await pass(epoch)
      } catch (error) {
        epoch = null
        onError(error)
        // The store failed or the lease was lost: retry after the interval, regardless of notifications.
        isNudged = false
      }
      await rest()
    }
    await idle()
    await channels.release(connectionId, role, holder).catch(onError)
  }
  return { nudge, ended: run() }
}
