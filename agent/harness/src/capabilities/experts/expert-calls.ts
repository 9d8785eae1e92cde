/**
 * The tools of an expert, and how it calls them. Its calls are not tool.call events of the session, so
 * nothing is on disk before they run: an expert gets read-only tools, and others only if its configuration
 * names them in full.
 */
import { asError, clip, findPattern } from '@cairn/protocol'
import { findToolName } from '@cairn/models'
import type { Clock } from '@cairn/models/clock'
import { decideGate } from '../../governance/decide.ts'
import { parseArguments } from '../../tools/arguments.ts'
import type { Call } from '../../tools/call.ts'
import { gate, type GateDeps } from '../../tools/gate.ts'
import { fitResult } from '../../tools/cut-result.ts'
import { asFailure, failure, runTool, unknownTool } from '../../tools/run-tool.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { workspaceMask } from '../../tools/workspace-mask.ts'

/** Tools that act for the session itself: its plan, its user, its artifacts, and other experts. */
const OF_THE_SESSION = new Set(['consult_expert', 'ask_user_question', 'todo', 'create_artifact'])

/** `patterns` are names or prefixes followed by `*`; a prefix selects only read-only tools. */
export const selectTools = (tools: readonly Tool[], patterns: readonly string[]): Tool[] =>
  tools.filter(
    tool =>
      !OF_THE_SESSION.has(tool.name) &&
      (patterns.includes(tool.name) || (tool.readOnly && findPattern(patterns, tool.name) !== undefined)),
  )

type Rules = Pick<GateDeps, 'policy' | 'agentTools'>

/** The tools shown to the expert, without those that the gate would refuse for any arguments. */
export const offeredTo = (tools: readonly Tool[], rules: Rules): Tool[] =>
  tools.filter(
    ({ name }) =>
      decideGate({ ...rules, tool: name, pathProblem: null, urlProblem: null, hasGrant: false }).allow,
  )

export type ExpertCall = { content: string; error: string | null }
export type ExpertCallDeps = Rules & {
  tools: readonly Tool[]
  clock: Clock
  defaultTimeoutMs: number
  context: ToolContext
}

const ERROR_CHARS = 200

/**
 * Runs an expert's call through the same gate, containment and limits as a call of the session. Rejects only
 * when the turn is stopped.
 */
export async function callForExpert(deps: ExpertCallDeps, call: Call): Promise<ExpertCall> {
  const { context, clock } = deps
  const { mask, unmask } = workspaceMask(context.workspace)
  const refuse = (content: Record<string, unknown>): ExpertCall => {
    const { error } = mask(content)
    return {
      content: JSON.stringify(mask(content)),
      error: clip(typeof error === 'string' ? error : 'failed', ERROR_CHARS),
    }
  }
  const called = findToolName(
    call.name,
    deps.tools.map(({ name }) => name),
  )
  const tool = deps.tools.find(({ name }) => name === called)
  if (tool === undefined)
    return refuse(
      unknownTool(
        call.name,
        offeredTo(deps.tools, deps).map(({ name }) => name),
      ),
    )
  const parsed = parseArguments(call.arguments, tool, unmask)
  if ('problem' in parsed) return refuse(failure(`invalid arguments: ${parsed.problem}`))
  const decision = await gate(
    { ...deps, workspace: context.workspace, findGrant: () => Promise.resolve(null) },
    tool,
    parsed.args,
    parsed.hash,
  )
  if (!decision.allow)
    return refuse({
      error: `Blocked: ${decision.reason}${decision.overridable ? ', and an expert cannot wait for it' : ''}`,
    })

  const { session_id, turn_id, workspace, egress } = context
  const outcome = await runTool(
    tool,
    parsed.args,
    { session_id, turn_id, workspace, egress, tool_call_id: call.tool_call_id },
    { clock, signal: context.signal, defaultTimeoutMs: deps.defaultTimeoutMs },
  )
  if (outcome.suspend) return refuse(failure('it waits for a person, and an expert cannot'))
  const failed = asFailure(outcome.content)
  if (failed !== null) return refuse(failed)
  try {
    return {
      content: (await fitResult(workspace, call.tool_call_id, mask(outcome.content))).content,
      error: null,
    }
  } catch (error) {
    return refuse(failure(asError(error).message))
  }
}
