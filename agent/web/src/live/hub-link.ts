/** The link of this page to its hub. A hub that ends, or does not answer, is replaced by a new one. */
import type { FromHub, ToHub } from './messages.ts'

const BEAT_MS = 2000
/** Messages without an answer until the page opens another hub. */
const UNANSWERED_MAX = 2

export type HubConnection = { post(wants: ToHub): void; close(): void }
/** Opens the hub, or a new one where the last has ended. Not every browser calls `onEnded`. */
export type OpenHub = (on: { onMessage: (message: FromHub) => void; onEnded: () => void }) => HubConnection
/** Calls again and again; returns how to stop. */
export type Every = (ms: number, call: () => void) => () => void

export function linkToHub(
  openHub: OpenHub,
  every: Every,
  wants: () => ToHub,
  receive: (message: Exclude<FromHub, { type: 'alive' }>) => void,
): { change(): void; close(): void } {
  let hub: HubConnection | null = null
  let unanswered = 0
  let stopBeat: (() => void) | null = null
  let isPosting = false

  function open(): HubConnection {
    unanswered = 0
    // A hub that was replaced is not listened to any more.
    const opened = openHub({
      onMessage(message) {
        if (opened !== hub) return
        if (message.type === 'alive') unanswered = 0
        else receive(message)
      },
      onEnded: () => opened === hub && replace(),
    })
    return opened
  }
  function close() {
    hub?.close()
    hub = null
  }
  function replace() {
    close()
    post()
  }
  function post() {
    const all = wants()
    if (all.length > 0) stopBeat ??= every(BEAT_MS, beat)
    else {
      stopBeat?.()
      stopBeat = null
    }
    if (hub === null && all.length === 0) return
    hub ??= open()
    hub.post(all)
  }
  function beat() {
    unanswered++
    if (unanswered > UNANSWERED_MAX) replace()
    else post()
  }

  return {
    /** Says what the page wants by now. A page that turns to another session says so once. */
    change() {
      if (isPosting) return
      isPosting = true
      queueMicrotask(() => {
        isPosting = false
        post()
      })
    },
    close,
  }
}
