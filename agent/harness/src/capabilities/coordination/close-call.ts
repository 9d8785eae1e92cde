/** Gives a waiting call its result, from the log alone, so that any runner writes the same. */
import { toolResult } from '../../tools/events.ts'
import type { Linked } from '../../tools/tool.ts'
import type { TurnContext } from '../../turn/context.ts'

export async function closeCall(
  turn: TurnContext,
  tool_call_id: string,
  content: Record<string, unknown>,
  elapsed_ms: number,
  linked: Linked,
): Promise<void> {
  const { answer, turn: at, conversation } = turn.log.position()
  const call = conversation.open.find(each => each.tool_call_id === tool_call_id)
  await turn.log.append(
    [
      toolResult({
        tool_call_id,
        name: call?.name ?? '',
        content: JSON.stringify(content),
        elapsed_ms,
        turn_id: answer?.turn_id ?? at.turn_id ?? turn.newId(),
        iteration_index: answer?.iteration_index ?? 0,
      }),
    ],
    linked,
  )
}
