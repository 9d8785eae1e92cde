/**
 * The tool.result of a question that a person answered (contract 7.12). Their answer is a separate event,
 * which may arrive while no runner is active; the runner that resumes the session writes the result before it
 * calls the model again.
 */
import type { EventData, EventDraft } from '@cairn/protocol'
import type { OpenCall } from '@cairn/state'
import { fitResult } from './cut-result.ts'
import { toolResult } from './events.ts'
import { workspaceMask } from './workspace-mask.ts'

export async function answeredResult(
  workspace: string,
  { tool_call_id, name, called_at, answered }: OpenCall,
  at: Pick<EventData<'tool.result'>, 'turn_id' | 'iteration_index'>,
): Promise<EventDraft> {
  if (answered === null) throw new Error(`[answeredResult] no answer to ${tool_call_id}`)
  const content = workspaceMask(workspace).mask({ responses: answered.responses })
  const fitted = await fitResult(workspace, tool_call_id, content)
  // The difference of two dates in the log: the runner that asked is gone, with its clock. 0 would mean that
  // nothing was asked.
  const elapsed_ms = called_at === null ? 1 : Math.max(1, Date.parse(answered.at) - Date.parse(called_at))
  return toolResult({ tool_call_id, name, ...fitted, elapsed_ms, ...at })
}
