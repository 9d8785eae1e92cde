/** Runs a tool whose tool.call is on disk, and writes what came of it: a result, or a question in its place. */
import { EVENTS } from '@cairn/protocol'
import { raiseQuestion } from '@cairn/sessions'
import type { Call, CallOutcome, CallToolDeps } from './call.ts'
import { fitResult } from './cut-result.ts'
import { toolResult } from './events.ts'
import { asFailure, runTool } from './run-tool.ts'
import type { Tool, ToolOutcome } from './tool.ts'
import { workspaceMask } from './workspace-mask.ts'

export async function runCommitted(
  deps: CallToolDeps,
  tool: Tool,
  call: Call,
  args: Record<string, unknown>,
): Promise<CallOutcome> {
  const { session_id, turn_id, iteration_index, workspace, clock } = deps
  const { tool_call_id, name } = call
  const { mask } = workspaceMask(workspace)
  const startedAt = clock.monotonic()
  const outcome = await runTool(
    tool,
    args,
    { session_id, tool_call_id, turn_id, workspace, egress: deps.policy.egress },
    { clock, signal: deps.signal, defaultTimeoutMs: deps.timeoutMs },
  )
  if (outcome.suspend) return suspend(deps, call, mask(outcome))
  const { content, events = [] } = mask(outcome)
  const failed = asFailure(content)
  const fitted = await fitResult(workspace, tool_call_id, failed ?? content)
  // A refusal is told by 0; whatever ran took some time.
  const elapsed_ms = Math.max(1, Math.round(clock.monotonic() - startedAt))
  await deps.commit([
    ...events,
    toolResult({ tool_call_id, name, ...fitted, elapsed_ms, turn_id, iteration_index }),
    ...deps.saga.end(tool_call_id, {
      arguments: mask(args),
      content: fitted.content,
      result: content,
      failed: failed !== null,
    }),
  ])
  return { tool_call_id, name, status: failed === null ? 'ok' : 'failed', content: fitted.content }
}

async function suspend(
  deps: CallToolDeps,
  { tool_call_id, name }: Call,
  { content, events = [] }: ToolOutcome,
): Promise<CallOutcome> {
  const data = EVENTS['inbox.input_required'].write.parse({
    ...(typeof content === 'string' ? {} : content),
    tool_call_id,
  })
  const raised = raiseQuestion(deps, data)
  await deps.commit([...events, raised.draft])
  return { tool_call_id, name, status: 'suspended', content: null }
}
