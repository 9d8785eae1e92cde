/**
 * The gate for every tool call, as a pure decision (contract 10).
 *
 * Order: denied list, the agent's tools, allow-lists, workspace containment, egress, and finally the approval
 * list. So an approval only satisfies the approval list, and a denial is overridable only when every other
 * check has passed.
 */
import { findPattern, type GovernanceConfig } from '@cairn/protocol'

export type GateInput = {
  policy: GovernanceConfig
  /** The tools of the agent's configuration; undefined: all. */
  agentTools: readonly string[] | undefined
  tool: string
  /** Why an argument leaves the workspace; null: it does not. */
  pathProblem: string | null
  /** Why an argument names a forbidden host; null: it does not. */
  urlProblem: string | null
  /** An unused approval for exactly this call exists. */
  hasGrant: boolean
}
export type GateDecision =
  | { allow: true; via?: 'grant' }
  | { allow: false; overridable: boolean; reason: string; /** The denying rule. */ policy_id: string }

const listed = (names: readonly string[]) => `[${names.join(', ')}]`

const refuse = (policy_id: string, reason: string): GateDecision => ({
  allow: false,
  overridable: false,
  reason,
  policy_id,
})

export function decideGate(input: GateInput): GateDecision {
  const { policy, tool } = input
  const denied = findPattern(policy.denied_tools, tool)
  if (denied !== undefined)
    return refuse(`denied_tools:${denied}`, `tool '${tool}' is denied by the policy of this agent`)
  const allowLists: [string, readonly string[] | undefined][] = [
    ['agent_tools', input.agentTools],
    ['allowed_tools', policy.allowed_tools.length > 0 ? policy.allowed_tools : undefined],
  ]
  for (const [id, names] of allowLists) {
    if (names !== undefined && findPattern(names, tool) === undefined)
      return refuse(id, `tool '${tool}' is not in the allow-list of this session. Allowed: ${listed(names)}`)
  }
  if (input.pathProblem !== null) return refuse('workspace_containment', input.pathProblem)
  if (input.urlProblem !== null) return refuse('egress', input.urlProblem)

  const gated = findPattern(policy.require_approval, tool)
  if (gated === undefined) return { allow: true }
  if (input.hasGrant) return { allow: true, via: 'grant' }
  return {
    allow: false,
    overridable: true,
    reason: `tool '${tool}' requires human approval`,
    policy_id: `require_approval:${gated}`,
  }
}

/** Whether the model sees the tool: a tool that can never pass the gate is not offered. */
export function isOffered(tool: string, input: Pick<GateInput, 'policy' | 'agentTools'>): boolean {
  const decision = decideGate({ ...input, tool, pathProblem: null, urlProblem: null, hasGrant: false })
  return decision.allow || decision.overridable
}
