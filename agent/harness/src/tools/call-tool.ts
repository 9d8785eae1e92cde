/**
 * The only way to run a tool call (contract 13.1, 14.6, 7, 10).
 *
 *   refused    one commit, nothing runs: tool.call, policy.denied, [inbox.governance_gate], tool.result
 *              with elapsed_ms 0
 *   allowed    one commit, on disk before the tool starts: tool.call, [policy.allowed], [the tool's start
 *              events]; then it runs; then its events and tool.result
 *   suspended  like allowed, but with a question (inbox.input_required) instead of the result: the answer's
 *              event is the result
 *
 * If a commit is refused (the lease is lost), the call rejects and nothing starts.
 */
import { CommitRefused, withRows } from '@cairn/log'
import { asError } from '@cairn/protocol'
import type { Approval } from '@cairn/sessions'
import { isOffered } from '../governance/decide.ts'
import { policyAllowedGrant, policyAllowedPass } from '../governance/events.ts'
import { type Accepted, parseArguments, parseObject, textsOf } from './arguments.ts'
import type { Call, CallOutcome, CallToolDeps } from './call.ts'
import { saveCheckpoint } from './checkpoint.ts'
import { gate } from './gate.ts'
import { denyCall, recordCall, refuseCall, type Refusal } from './refuse-call.ts'
import { runCommitted } from './run-committed.ts'
import { failure, unknownTool } from './run-tool.ts'
import type { Tool } from './tool.ts'
import { workspaceMask } from './workspace-mask.ts'

export async function callTool(deps: CallToolDeps, call: Call): Promise<CallOutcome> {
  deps.signal.throwIfAborted()
  const tool = deps.tools.get(call.name)
  if (tool === undefined) {
    const offered = [...deps.tools.keys()].filter(known => isOffered(known, deps))
    const unknown = unknownTool(call.name, offered, deps.absences.get(call.name))
    return refuseCall(deps, call, parseObject(call.arguments), failed(unknown))
  }
  const parsed = parseArguments(call.arguments, tool, workspaceMask(deps.workspace).unmask)
  if ('problem' in parsed)
    return refuseCall(deps, call, parsed, failed(failure(`invalid arguments: ${parsed.problem}`)))
  const decision = await gate(deps, tool, parsed.args, parsed.hash)
  if (!decision.allow) return denyCall(deps, call, parsed, decision)
  const changed = decision.grant === undefined ? null : await definitionProblem(tool)
  if (changed !== null) return refuseCall(deps, call, parsed, failed(failure(changed)))
  let checkpoint: Checkpoint
  try {
    checkpoint = await keepCheckpoint(deps, tool, parsed.args)
  } catch (error) {
    return refuseCall(deps, call, parsed, failed(failure(asError(error).message)))
  }
  const refused = await begin(deps, tool, call, parsed, { grant: decision.grant, checkpoint })
  return refused ?? runCommitted(deps, tool, call, parsed.args)
}

/** Before an approval is used: why the tool differs from the approved one; null: it does not. */
async function definitionProblem({ definition }: Tool): Promise<string | null> {
  try {
    await definition?.confirm()
    return null
  } catch (error) {
    return asError(error).message
  }
}

const failed = (content: Record<string, unknown>): Refusal => ({ status: 'failed', content, events: [] })

type Checkpoint = { checkpoint_hash?: string }

async function keepCheckpoint(
  { checkpoints, workspace }: CallToolDeps,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<Checkpoint> {
  if (checkpoints === null || !tool.mutatesFiles) return {}
  const paths = [...textsOf(args, tool.paths), ...((await tool.changes?.(args, workspace)) ?? [])]
  return { checkpoint_hash: await saveCheckpoint(checkpoints, workspace, paths) }
}

/**
 * Writes the call to disk before its tool starts; returns the outcome if that was refused after all, else
 * null.
 */
async function begin(
  deps: CallToolDeps,
  tool: Tool,
  call: Call,
  accepted: Accepted,
  { grant, checkpoint }: { grant: Approval | undefined; checkpoint: Checkpoint },
): Promise<CallOutcome | null> {
  const { tool_call_id, name } = call
  const { raw, args, hash } = accepted
  const { mask } = workspaceMask(deps.workspace)
  const repeats = grant?.approves_tool_call_id
  const called = recordCall(deps, call, accepted, {
    ...checkpoint,
    ...(repeats === undefined ? {} : { approves_tool_call_id: repeats }),
  })
  try {
    const events = [
      grant === undefined
        ? called
        : withRows(called, { do: 'grant.consume', id: grant.id, tool: name, arguments_hash: hash }),
      ...deps.saga.begin(tool, { tool_call_id, arguments: mask(raw), ...checkpoint }),
      ...(deps.logAllowed ? [policyAllowedPass(name, deps.clock.now())] : []),
      ...(grant === undefined ? [] : [policyAllowedGrant(name, tool_call_id, grant.granted_by)]),
      ...(tool.begins?.(mask(args), tool_call_id) ?? []),
    ]
    await deps.commit(events, tool.beginsLinked?.(mask(args), tool_call_id))
    return null
  } catch (error) {
    const why = error instanceof CommitRefused ? (tool.refusedToBegin?.(error) ?? null) : null
    if (why !== null) return refuseCall(deps, call, accepted, failed(failure(why)))
    // The approval was used or expired after the gate's check: ask again.
    if (!(error instanceof CommitRefused) || error.refusal !== 'no_grant') throw error
    const again = await gate({ ...deps, findGrant: () => Promise.resolve(null) }, tool, args, hash)
    if (again.allow) throw error
    return denyCall(deps, call, accepted, again)
  }
}
