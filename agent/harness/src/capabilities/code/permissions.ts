/**
 * Permissions that a coding agent requests, judged like calls of the tool `code.<kind>` with the agent's
 * description as arguments. An approval is valid once, so every call is judged. A call that needs an approval
 * waits for a while, and then parks the run.
 */
import type { PermissionOption, RequestPermissionRequest, ToolKind } from '@agentclientprotocol/sdk'
import { CommitRefused, type EventWithRows, type Grant, type Redact, withRows } from '@cairn/log'
import { clip, type Config, findPattern, type GovernanceConfig } from '@cairn/protocol'
import { createGateItem } from '@cairn/sessions'
import { argumentsHash, canonicalJson } from '../../tools/canonical-json.ts'
import { decideGate } from '../../governance/decide.ts'
import { policyAllowedGrant, policyDenied } from '../../governance/events.ts'
import { recordedArguments } from '../../tools/arguments.ts'
import { workspaceMask } from '../../tools/workspace-mask.ts'
import type { Push } from './git-broker.ts'

const KINDS: readonly ToolKind[] = ['execute', 'edit', 'delete', 'move', 'fetch', 'read', 'search', 'other']
const EXCERPT_CHARS = 500
const PUSH = 'code.push'

/** The tool name under which governance judges it. */
const judgedAs = (kind: ToolKind | null | undefined): string => `code.${kind ?? 'other'}`

/** Whether the policy covers a coding agent's calls; otherwise the sandbox is the boundary. */
export const judgesCode = ({ allowed_tools, denied_tools, require_approval }: GovernanceConfig): boolean =>
  allowed_tools.length > 0 ||
  KINDS.some(kind =>
    [...denied_tools, ...require_approval].some(pattern => findPattern([pattern], judgedAs(kind))),
  )

type Args = Record<string, unknown>
type ToolCall = RequestPermissionRequest['toolCall']

/** What the agent will run; if it does not say, what it displays. */
function argumentsOf({ rawInput, title, locations }: ToolCall): Args {
  if (typeof rawInput === 'object' && rawInput !== null && !Array.isArray(rawInput)) return rawInput as Args
  return {
    ...(title === undefined || title === null ? {} : { title }),
    ...(locations === undefined || locations === null ? {} : { paths: locations.map(({ path }) => path) }),
    ...(rawInput === undefined ? {} : { input: rawInput }),
  }
}

/** Never `allow_always`, because each call must be judged. */
export const optionOf = (
  options: readonly PermissionOption[],
  kind: 'allow_once' | 'reject_once',
): string | null => options.find(option => option.kind === kind)?.optionId ?? null

export type Judged = 'allow' | 'reject' | { waits: string }

export type JudgeDeps = {
  run_id: string
  policy: GovernanceConfig
  workspace: string
  now: () => number
  newId: () => string
  redact: Redact
  commit(events: readonly EventWithRows[]): Promise<unknown>
  findGrant(tool: string, argumentsHash: string): Promise<Grant | null>
  /** The call whose undecided item covers this one; null: none. */
  findGate(tool: string, argumentsHash: string): Promise<string | null>
  /**
   * Whether a person rejected this very call while an earlier process asked, which ended before it received
   * the answer.
   */
  wasRejected(toolCallId: string): boolean
}

/** The call to judge; `id` is unique within the run. */
export type JudgedCall = { tool: string; args: Args; id: string }

export const callOf = (toolCall: ToolCall): JudgedCall => ({
  tool: judgedAs(toolCall.kind),
  args: argumentsOf(toolCall),
  id: toolCall.toolCallId,
})

/** The same push has the same id in every process of the run. */
export const callOfPush = (push: Push): JudgedCall => ({
  tool: PUSH,
  args: push,
  id: `push-${argumentsHash(push).slice(0, 12)}`,
})

/** A push leaves the sandbox, so it needs a person's approval unless the configuration says otherwise. */
export function withPushes(policy: GovernanceConfig, push: Config['code']['push']): GovernanceConfig {
  if (push === 'allow') return policy
  const key = push === 'ask' ? 'require_approval' : 'denied_tools'
  return { ...policy, [key]: [...policy[key], PUSH] }
}

/** `waits`: the id under which a person decides. */
export async function judge(deps: JudgeDeps, call: JudgedCall): Promise<Judged> {
  const { run_id, policy, now, workspace, redact } = deps
  const { tool, args } = call
  const hash = argumentsHash(args)
  const tool_call_id = `${run_id}:${call.id}`
  const grant = await deps.findGrant(tool, hash)
  const decision = decideGate({
    policy,
    agentTools: undefined,
    tool,
    pathProblem: null,
    urlProblem: null,
    hasGrant: grant !== null,
  })
  if (decision.allow) {
    if (decision.via !== 'grant' || grant === null) return 'allow'
    try {
      await deps.commit([
        withRows(policyAllowedGrant(tool, tool_call_id, grant.granted_by, run_id), {
          do: 'grant.consume',
          id: grant.id,
          tool,
          arguments_hash: hash,
        }),
      ])
      return 'allow'
    } catch (error) {
      // The grant was used or expired since the check: ask again.
      if (!(error instanceof CommitRefused) || error.refusal !== 'no_grant') throw error
      return judge({ ...deps, findGrant: () => Promise.resolve(null) }, call)
    }
  }
  const denied = policyDenied(tool, decision, tool_call_id, now(), run_id)
  if (!decision.overridable) {
    await deps.commit([denied])
    return 'reject'
  }
  if (deps.wasRejected(tool_call_id)) return 'reject'
  const waiting = await deps.findGate(tool, hash)
  if (waiting !== null) return { waits: waiting }
  const shown = recordedArguments(redact, workspaceMask(workspace).mask(args))
  const created = createGateItem(deps, {
    run_id,
    tool_name: tool,
    tool_call_id,
    arguments_excerpt: clip(canonicalJson(shown.arguments), EXCERPT_CHARS),
    deny_reason: decision.reason,
    policy_id: decision.policy_id,
    ...shown,
    shown_hash: argumentsHash(shown.arguments),
    arguments_hash: hash,
  })
  await deps.commit([denied, created.event])
  return { waits: tool_call_id }
}
