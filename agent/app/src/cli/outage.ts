/** Reports an outage once when it starts and once when it ends; retries in between are silent. */
import type { StateDetail, StreamState } from '@cairn/client'

export function outageNotes(note: (line: string) => void): (state: StreamState, detail: StateDetail) => void {
  let isOut = false
  return (state, { error }) => {
    if (state === 'draining') note('the server is shutting down')
    if (state === 'reconnecting' && !isOut) {
      isOut = true
      note(`connection lost${error === undefined ? '' : `: ${error.message}`}; trying again until it is back`)
    }
    if (state === 'live' && isOut) {
      isOut = false
      note('connected again')
    }
  }
}
