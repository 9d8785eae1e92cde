/** Reports an outage once when it starts and once when it ends; retries in between are silent. */
import type { StateDetail, StreamState } from '@cairn/client'

export function outageNotes(note: (line: string) => void): (state: StreamState, detail: StateDetail) => void {
  let isOut = false
  return (state, { error }) => {
    if (state === 'draining') note('server is shutting down')
    if (state === 'reconnecting' && !isOut) {
      isOut = true
      note(`connection lost${error === undefined ? '' : `: ${error.message}`}; reconnecting`)
    }
    if (state === 'live' && isOut) {
      isOut = false
      note('reconnected')
    }
  }
}
