/** Compaction as a row of the capabilities, before a request that would take too much of the window. */
import type { Capability } from '../../turn/capability.ts'
import { compactForOverflow, compactForThreshold, findWindow } from './compact.ts'
import { cutDue, type Window } from './due.ts'

export const compaction: Capability<{ window: Window }> = {
  name: 'compaction',
  handsOver: true,
  asks(turn) {
    const windowOf = findWindow(turn)
    return {
      before_request: position => {
        const window = windowOf(position.turn.escalated_model ?? turn.setup.model)
        return window !== null && cutDue(position, window) !== null ? { window } : null
      },
    }
  },
  async act(turn, { window }, before) {
    await compactForThreshold(turn, window, before)
    return { next: 'look' }
  },
  onOverflow: compactForOverflow,
}
