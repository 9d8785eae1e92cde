/**
 * The tool.result of a question that a person answered (contract 7.12). Their answer is an event of its own,
 * which may come while no worker is there; the worker that goes on writes this one, before the model is
 * called again.
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
  if (answered === null) throw new Error(`[answeredResult] nobody answered ${tool_call_id}`)
  const content = workspaceMask(workspace).mask({ responses: answered.responses })
  const fitted = await fitResult(workspace, tool_call_id, content)
  // Two dates of the log: the worker that asked is gone, and so is its clock. 0 would say that nothing was
  // asked.
  const elapsed_ms = called_at === null ? 1 : Math.max(1, Date.parse(answered.at) - Date.parse(called_at))
  return toolResult({ tool_call_id, name, ...fitted, elapsed_ms, ...at })
}
