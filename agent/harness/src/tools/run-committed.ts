/** Runs a tool whose tool.call is on disk, and writes its result, or a question instead. */
import { CommitRefused } from '@cairn/log'
import { EVENTS } from '@cairn/protocol'
import { createQuestionItem } from '@cairn/sessions'
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
  const { session_id, turn_id, workspace, clock } = deps
  const { tool_call_id } = call
  const startedAt = clock.monotonic()
  const outcome = await runTool(
    tool,
    args,
    {
      session_id,
      tool_call_id,
      turn_id,
      workspace,
      egress: deps.policy.egress,
      ...(deps.askFor === undefined ? {} : { ask: deps.askFor(tool_call_id) }),
    },
    { clock, signal: deps.signal, defaultTimeoutMs: deps.timeoutMs },
  )
  return land(deps, { call, args, startedAt }, outcome)
}

type Ran = { call: Call; args: Record<string, unknown>; startedAt: number }

/** Writes the outcome of a tool, or what it does instead if that commit is refused. */
async function land(deps: CallToolDeps, ran: Ran, outcome: ToolOutcome): Promise<CallOutcome> {
  try {
    return await write(deps, ran, outcome)
  } catch (error) {
    const other = error instanceof CommitRefused ? await outcome.refused?.(error) : null
    if (other) return land(deps, ran, other)
    throw error
  }
}

async function write(
  deps: CallToolDeps,
  { call, args, startedAt }: Ran,
  outcome: ToolOutcome,
): Promise<CallOutcome> {
  const { turn_id, iteration_index, workspace, clock } = deps
  const { tool_call_id, name } = call
  const { mask } = workspaceMask(workspace)
  const { refused: _, suspend: waitsFor, ...told } = outcome
  if (waitsFor === 'person') return suspend(deps, call, mask(told))
  const { content, events = [], linked, pictures } = mask(told)
  if (waitsFor === 'children') {
    // A call that waits for existing children has nothing to write.
    if (events.length > 0) await deps.commit(events, linked)
    return { tool_call_id, name, status: 'suspended', content: null }
  }
  const failed = asFailure(content)
  const fitted = await fitResult(workspace, tool_call_id, failed ?? content)
  // 0 means refused, so a tool that ran takes at least 1 ms.
  const elapsed_ms = Math.max(1, Math.round(clock.monotonic() - startedAt))
  await deps.commit(
    [
      ...events,
      toolResult({
        tool_call_id,
        name,
        ...fitted,
        ...(pictures === undefined ? {} : { pictures: [...pictures] }),
        elapsed_ms,
        turn_id,
        iteration_index,
      }),
      ...deps.saga.end(tool_call_id, {
        arguments: mask(args),
        content: fitted.content,
        result: content,
        failed: failed !== null,
      }),
    ],
    linked,
  )
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
  const created = createQuestionItem(deps, data)
  await deps.commit([...events, created.event])
  return { tool_call_id, name, status: 'suspended', content: null }
}
