/** Calls that do not reach their tool: the call, the reason, and its result in one commit. Nothing ran. */
import type { EventWithRows } from '@cairn/log'
import { clip, type EventData, type EventDraft } from '@cairn/protocol'
import { createGateItem, repeatGate } from '@cairn/sessions'
import { argumentsHash, canonicalJson } from './canonical-json.ts'
import type { GateDecision } from '../governance/decide.ts'
import { policyDenied } from '../governance/events.ts'
import { type Accepted, type Recorded, recordedArguments } from './arguments.ts'
import type { Call, CallOutcome, CallToolDeps } from './call.ts'
import { toolCall, toolResult } from './events.ts'
import { workspaceMask } from './workspace-mask.ts'

const EXCERPT_CHARS = 500

type Denial = Extract<GateDecision, { allow: false }>

/** Why a call did not reach its tool: what the model reads, and what is written before the result. */
export type Refusal = {
  status: 'failed' | 'refused' | 'gated'
  /** The decision of the policy, if that is the reason. */
  verdict?: 'ask' | 'deny'
  content: Record<string, unknown>
  events: readonly EventWithRows[]
}

/** `repeats`: the call with an undecided approval that this one would repeat. */
function denied(
  deps: CallToolDeps,
  { tool_call_id, name }: Call,
  { args, hash }: Accepted,
  denial: Denial,
  repeats: string | null,
): Refusal {
  const event = policyDenied(name, denial, tool_call_id, deps.clock.now())
  if (!denial.overridable)
    return {
      status: 'refused',
      verdict: 'deny',
      content: { error: `Blocked: ${denial.reason}` },
      events: [event],
    }
  const shown = recordedArguments(deps.redact, workspaceMask(deps.workspace).mask(args))
  const arguments_excerpt = clip(canonicalJson(shown.arguments), EXCERPT_CHARS)
  const tool = deps.tools.get(name)
  const about = {
    ...(tool?.definition === undefined
      ? {}
      : { tool_description: tool.description, definition_hash: tool.definition.hash }),
    tool_name: name,
    tool_call_id,
    arguments_excerpt,
    deny_reason: denial.reason,
    policy_id: denial.policy_id,
  }
  if (repeats !== null) {
    const message =
      `${denial.reason}; this call was already made (${repeats}) and awaits a decision: do not repeat it, ` +
      'you are notified of the decision'
    return {
      status: 'gated',
      verdict: 'ask',
      content: { error: 'policy_blocked_overridable', message, tool_call_id },
      events: [event, repeatGate({ ...about, repeats_tool_call_id: repeats })],
    }
  }
  const shown_hash = argumentsHash(shown.arguments)
  const created = createGateItem(deps, { ...about, ...shown, shown_hash, arguments_hash: hash })
  return {
    status: 'gated',
    verdict: 'ask',
    content: { error: 'policy_blocked_overridable', message: denial.reason, tool_call_id },
    events: [event, created.event],
  }
}

/** The tool.call to record: with the workspace's path masked and secrets redacted. */
export const recordCall = (
  { redact, workspace, turn_id, iteration_index }: CallToolDeps,
  { tool_call_id, name }: Call,
  { raw, corrections }: Recorded,
  extra: Pick<EventData<'tool.call'>, 'checkpoint_hash' | 'verdict' | 'approves_tool_call_id'> = {},
): EventDraft =>
  toolCall({
    tool_call_id,
    name,
    ...recordedArguments(redact, workspaceMask(workspace).mask(raw)),
    ...(corrections === undefined ? {} : { corrections: [...corrections] }),
    ...extra,
    turn_id,
    iteration_index,
  })

export async function refuseCall(
  deps: CallToolDeps,
  call: Call,
  recorded: Recorded,
  { status, verdict, content, events }: Refusal,
): Promise<CallOutcome> {
  const { tool_call_id, name } = call
  const { turn_id, iteration_index } = deps
  const text = JSON.stringify(workspaceMask(deps.workspace).mask(content))
  const result = toolResult({ tool_call_id, name, content: text, elapsed_ms: 0, turn_id, iteration_index })
  const called = recordCall(deps, call, recorded, verdict === undefined ? {} : { verdict })
  await deps.commit([called, ...events, result])
  return { tool_call_id, name, status, content: text }
}

/** One at a time, so that two identical calls do not both ask for an approval. */
export function denyCall(
  deps: CallToolDeps,
  call: Call,
  accepted: Accepted,
  denial: Denial,
): Promise<CallOutcome> {
  const refuse = (repeats: string | null): Promise<CallOutcome> =>
    refuseCall(deps, call, accepted, denied(deps, call, accepted, denial, repeats))
  if (!denial.overridable) return refuse(null)
  return deps.gates.inTurn(async () => refuse(await deps.gates.find(call.name, accepted.hash)))
}
