/** The connection of this page to its hub. A hub that ends or stops answering is replaced by a new one. */
import type { FromHub, ToHub } from './messages.ts'

const BEAT_MS = 2000
/** After this many unanswered messages the page opens another hub. */
const UNANSWERED_MAX = 2

export type HubConnection = { post(wants: ToHub): void; close(): void }
/** Opens a hub. Not every browser calls `onEnded`. */
export type OpenHub = (on: { onMessage: (message: FromHub) => void; onEnded: () => void }) => HubConnection
/** Calls repeatedly; returns a function that stops it. */
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
    // Messages of a replaced hub are ignored.
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
    /** Sends the current subscriptions of the page; changes in the same event loop task are sent together. */
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
