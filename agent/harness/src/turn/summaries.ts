/** The records of an iteration and of a turn after their end. */
import type { EventDraft } from '@cairn/protocol'
import { listArtifacts, parseCall, recapIteration, recapTurn } from '../tools/recap.ts'
import { iterationSummary, turnSummary } from '../events.ts'
import type { TurnContext } from './context.ts'

/** The summary of the turn, if one started. */
export function sumUp(turn: TurnContext): EventDraft[] {
  const { answer, turn: at } = turn.log.position()
  return at.turn_id === null
    ? []
    : [
        turnSummary({
          turn_id: at.turn_id,
          iteration_index: answer?.iteration_index ?? 0,
          recap: recapTurn(at.calls),
          artifacts: listArtifacts(at),
          iterations: at.next_iteration,
          ...at.usage,
        }),
      ]
}

/** The summary of the last iteration, unless it has one; it joins the next commit. */
export function summarize(turn: TurnContext): EventDraft[] {
  const { answer, summarized, turn: at } = turn.log.position()
  if (answer === null || answer.iteration_index <= summarized) return []
  const calls = at.calls.filter(call => answer.call_ids.includes(call.tool_call_id)).map(parseCall)
  return [
    iterationSummary({
      turn_id: answer.turn_id,
      iteration_index: answer.iteration_index,
      summary: recapIteration(calls, answer.empty),
      tool_call_ids: [...answer.call_ids],
      started_at: answer.started_at,
      ended_at: new Date(turn.clock.now()).toISOString(),
    }),
  ]
}
