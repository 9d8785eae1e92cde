/** Does work while this process holds a lease, and only then; gives the lease back at the end. */
import type { ChannelRole, ChannelStore } from '@cairn/log'

const TTL_MS = 30_000
const RENEW_MS = 10_000
/** Within a pass the lease holds for so long at least. */
export const HELD_MS = TTL_MS - RENEW_MS

export type Holding = {
  connectionId: string
  role: ChannelRole
  holder: string
  channels: ChannelStore
  signal: AbortSignal
  onError: (error: unknown) => void
  /** So long a pass is followed by the next one without a nudge. */
  pollMs: number
  /** The lease is another's, or the store is away: what needs it ends. */
  onLapse?: () => void
  /** What passes began is over; the lease is held until then. */
  idle: () => Promise<void>
}

export type Held = { nudge: () => void; ended: Promise<void> }

/** `pass` is one look at what there is to do; `epoch` is the lease's. */
export function holdLease(holding: Holding, pass: (epoch: number) => Promise<void>): Held {
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
        // Whoever is told to stop while it takes the lease begins nothing.
        if (epoch !== null && !signal.aborted) await pass(epoch)
      } catch (error) {
        epoch = null
        onError(error)
        // What failed is the store or a lease that moved: look again after a while, whoever nudges.
        isNudged = false
      }
      await rest()
    }
    await idle()
    await channels.release(connectionId, role, holder).catch(onError)
  }
  return { nudge, ended: run() }
}
