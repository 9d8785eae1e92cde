/**
 * Missions as two rows of the capabilities: a round about to end is graded, and a verdict that asks for more
 * starts the next one (contract 14.5). As for goals, a command that clears the conversation runs between
 * them.
 */
import type { EventId, MissionTrigger } from '@cairn/protocol'
import { missionContinuation } from '@cairn/sessions'
import type { Mission } from '@cairn/state'
import type { Capability } from '../../turn/capability.ts'
import type { Position } from '../../turn/position.ts'
import { isReported } from './active-research.ts'
import { evaluateRound } from './evaluate.ts'
import { missionContinued } from './events.ts'
import { overspent, usedOf } from './spent.ts'

type Due = { response_id: EventId; trigger: MissionTrigger }

/** From this fraction of the budget on, the next call must answer, as with a session's budget. */
const LAST_CALL = 0.9

/** The answer by which the round would be graded; without one, the mission's definition. */
const lastAnswer = ({ answer, conversation }: Position, { defined_at }: Mission): EventId =>
  answer?.id ??
  conversation.entries.findLast(
    ({ message, event_id }) => message.role === 'assistant' && event_id > defined_at,
  )?.event_id ??
  defined_at

/** Whether a person's message came after the request of that answer, so that the answer ignores it. */
const isUnheard = ({ answer, spoken_id }: Position, response_id: EventId): boolean =>
  spoken_id > (answer?.request_id ?? response_id)

const isGraded = (position: Position, mission: Mission): boolean =>
  mission.open === null && mission.graded?.response_id === lastAnswer(position, mission)

export const missionGrading: Capability<Due> = {
  name: 'mission_grading',
  handsOver: true,
  asks: ({ clock }) => ({
    isOver: position => {
      const { mission, spoken_id } = position
      if (mission === null) return null
      if (mission.status === 'active' && usedOf(mission, clock.now()) >= 1) return 'budget_exhausted'
      // A verdict in the middle of a turn ended it, unless a message came since. Earlier unanswered messages
      // wait for the next round, or are answered now if there is none.
      const { graded, halted_at } = mission
      if (graded !== null && isGraded(position, mission) && nothingSince(position, graded.verdict_id)) {
        if (mission.status === 'active' || !isUnheard(position, graded.response_id)) return 'budget_exhausted'
      }
      // An operator's pause or cancel ends it too; a message by a person is still answered.
      const isHalted = halted_at !== null && spoken_id < halted_at && nothingSince(position, halted_at)
      return isHalted ? 'completed' : null
    },
    isLast: ({ mission }) => mission?.status === 'active' && usedOf(mission, clock.now()) >= LAST_CALL,
    at_end: (position, reason) => {
      const { mission } = position
      if (mission === null) return null
      if (isGraded(position, mission)) {
        // The session's budget ended the round before its first answer, and would end every later one.
        const isStuck = mission.status === 'active' && mission.owed === null && reason === 'budget_exhausted'
        return isStuck ? { response_id: lastAnswer(position, mission), trigger: 'budget' } : null
      }
      if (mission.open === null && mission.status !== 'active') return null
      const trigger =
        overspent(mission, clock.now())?.trigger ?? (isReported(position) ? 'report' : 'round_end')
      return { response_id: lastAnswer(position, mission), trigger }
    },
  }),
  async act(turn, due, before) {
    const error = await evaluateRound(turn, { ...due, before })
    return error === null
      ? { next: 'look' }
      : { next: 'fail', error, message: `The mission evaluator did not answer: ${error.message}` }
  },
}

/** Nothing was said after that event; results of earlier calls may still arrive. */
const nothingSince = ({ conversation: { entries, deferred } }: Position, id: EventId): boolean =>
  [...entries, ...deferred].every(({ message, event_id }) => message.role !== 'user' || event_id < id)

export const missionContinuing: Capability<{ verdict_id: EventId }> = {
  name: 'mission_continuing',
  asks: () => ({
    at_end: position => {
      const { mission } = position
      return mission?.status === 'active' && mission.owed !== null && isGraded(position, mission)
        ? { verdict_id: mission.owed }
        : null
    },
  }),
  async act(turn, { verdict_id }) {
    const { mission, last_id } = turn.log.position()
    if (mission === null) throw new Error('[mission] cannot resume: the session has no mission')
    const { mission_id, iteration } = mission
    const queued = missionContinued({ mission_id, iteration, status_event_id: verdict_id })
    return { next: 'end_turn', events: [queued, missionContinuation(mission)], cursor: last_id }
  },
}
