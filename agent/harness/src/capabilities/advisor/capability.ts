/** The advisor as a row of the capabilities: when it is called, and when a request is closed. */
import { findOverspentGoal } from '../goals/overspent.ts'
import type { Capability } from '../../turn/capability.ts'
import { advise, closeAdvice } from './advise.ts'
import { type AdviceCategory, adviceDue } from './due.ts'

/** Null: only close the request that a crashed runner left open. */
type Due = { category: AdviceCategory | null }

export const advisor: Capability<Due> = {
  name: 'advisor',
  handsOver: true,
  asks({ setup: { agent }, clock }) {
    const ask = (position: Parameters<typeof adviceDue>[0], finishing: boolean): Due | null => {
      const category = adviceDue(position, finishing, agent.advisor)
      return category === null ? null : { category }
    }
    return {
      first: ({ turn, advice }) =>
        turn.turn_id !== null && advice.open !== null ? { category: null } : null,
      // A goal with an exhausted budget is graded, not advised on.
      before_request: (position, { with_tools }) =>
        with_tools && findOverspentGoal(position.goal, agent.goals, clock.now()) === null
          ? ask(position, false)
          : null,
      at_end: (position, reason) =>
        reason === 'completed' && findOverspentGoal(position.goal, agent.goals, clock.now()) === null
          ? ask(position, true)
          : null,
    }
  },
  async act(turn, { category }, before) {
    await (category === null ? closeAdvice(turn) : advise(turn, category, before))
    return { next: 'look' }
  },
}
