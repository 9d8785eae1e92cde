/**
 * The events of the gate; the only place that holds the governance writer. Timestamps are Unix seconds, as in
 * the specification.
 */
import type { Grant } from '@cairn/log'
import { deciderKeys, type EventDraft, writer } from '@cairn/protocol'

const write = writer('governance')

/** The gate blocked a call; `runId`: a call of that coding agent's run. */
export const policyDenied = (
  tool: string,
  denial: { reason: string; policy_id: string },
  tool_call_id: string,
  nowMs: number,
  runId?: string,
): EventDraft =>
  write('policy.denied', {
    tool,
    reason: denial.reason,
    timestamp: nowMs / 1000,
    tool_call_id,
    policy_id: denial.policy_id,
    ...(runId === undefined ? {} : { run_id: runId }),
  })

/** The gate allowed a call; written only with `governance.log_allowed` (policy.allowed, shape 1). */
export const policyAllowedPass = (tool: string, nowMs: number): EventDraft =>
  write('policy.allowed', { tool, check: 'governance_gate', timestamp: nowMs / 1000 })

/**
 * An approved call runs; its grant is consumed in the same commit (policy.allowed, shape 2). `reason` is
 * fixed by the contract; the extra key names the decider.
 */
export const policyAllowedGrant = (
  tool_name: string,
  tool_call_id: string,
  decidedBy: Grant['granted_by'],
  runId?: string,
): EventDraft =>
  write('policy.allowed', {
    tool_name,
    reason: 'human approval',
    tool_call_id,
    ...(decidedBy === null ? {} : deciderKeys(decidedBy)),
    ...(runId === undefined ? {} : { run_id: runId }),
  })
