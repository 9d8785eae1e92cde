/** The gate for every call, including those of an expert: policy, containment, egress, and approvals. */
import type { GovernanceConfig } from '@cairn/protocol'
import type { Approval } from '@cairn/sessions'
import { pathProblem } from '@cairn/workspace'
import { type GateDecision, type GateInput, decideGate } from '../governance/decide.ts'
import { urlProblem } from '@cairn/sandbox/egress'
import { textsOf } from './arguments.ts'
import type { CallToolDeps } from './call.ts'
import type { Tool } from './tool.ts'

export type GateDeps = Pick<CallToolDeps, 'policy' | 'agentTools' | 'workspace' | 'findGrant'>

async function findPathProblem(
  tool: Tool,
  args: Record<string, unknown>,
  workspace: string,
): Promise<string | null> {
  for (const path of textsOf(args, tool.paths)) {
    const problem = await pathProblem(workspace, path, tool.mutatesFiles ? 'write' : 'read')
    if (problem !== null) return problem
  }
  return null
}

function findUrlProblem(
  tool: Tool,
  args: Record<string, unknown>,
  egress: GovernanceConfig['egress'],
): string | null {
  return (
    textsOf(args, tool.urls)
      .map(url => urlProblem(url, egress))
      .find(problem => problem !== null) ?? null
  )
}

/** A decision, and the grant to consume if an approval allowed the call. */
export type Gated = GateDecision & { grant?: Approval }

/** Represents the grant that the call has already consumed. */
export const SPENT: Approval = { id: '', granted_by: null }

export async function gate(
  deps: GateDeps,
  tool: Tool,
  args: Record<string, unknown>,
  hash: string,
): Promise<Gated> {
  const { policy, agentTools } = deps
  const input: GateInput = {
    policy,
    agentTools,
    tool: tool.name,
    hasGrant: false,
    pathProblem: await findPathProblem(tool, args, deps.workspace),
    urlProblem: findUrlProblem(tool, args, policy.egress),
  }
  const decision = decideGate(input)
  // Query the store only if nothing but an approval is missing.
  const grant = !decision.allow && decision.overridable ? await deps.findGrant(tool.name, hash) : null
  if (grant === null) return decision
  const granted = decideGate({ ...input, hasGrant: true })
  return granted.allow ? { ...granted, grant } : granted
}

/** Whether a call that was allowed once would be allowed now, with its used approval counted as given. */
export async function stillAllowed(
  deps: GateDeps,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<boolean> {
  return (await gate({ ...deps, findGrant: () => Promise.resolve(SPENT) }, tool, args, '')).allow
}
