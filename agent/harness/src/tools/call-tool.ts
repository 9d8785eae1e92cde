/**
 * The one way a tool call runs (contract 13.1, 14.6, 7, 10).
 *
 *   refused    tool.call, policy.denied, [inbox.governance_gate], tool.result with elapsed_ms 0: one commit, nothing ran
 *   allowed    tool.call, [policy.allowed], [what the tool begins with] in one commit, on disk before the tool starts; then it runs; then its events and tool.result
 *   suspended  as allowed, but a question (inbox.input_required) in place of the result: the answer's event is the result
 *
 * A commit that is refused (the lease is gone) rejects, and then nothing starts.
 */
import { CommitRefused, type Draft, type Grant, REDACTED, type Redact, withRows } from '@cairn/log'
import { EVENTS, type GovernanceConfig, asError, MAX_DEPTH, nestsTooDeep } from '@cairn/protocol'
import { clip, raiseGate, raiseQuestion, repeatGate } from '@cairn/sessions'
import { pathProblem } from '@cairn/workspace'
import { argumentsHash, canonicalJson } from '../canonical-json.ts'
import type { Clock } from '../clock.ts'
import { type GateDecision, type GateInput, decideGate, isOffered } from '../governance/decide.ts'
import { urlProblem } from '../governance/egress.ts'
import type { OpenGates } from '../governance/open-gates.ts'
import { policyAllowedGrant, policyAllowedPass, policyDenied } from '../governance/events.ts'
import type { CallSteps } from './call-steps.ts'
import { saveCheckpoint } from './checkpoint.ts'
import { fitResult } from './cut-result.ts'
import { toolCall, toolResult } from './events.ts'
import { asFailure, failure, runTool, unknownTool } from './run-tool.ts'
import type { Tool, ToolOutcome } from './tool.ts'
import { workspaceMask } from './workspace-mask.ts'

/** A call as the model made it; an OpenCall of the conversation is one. */
export type Call = { tool_call_id: string; name: string; /** JSON text. */ arguments: string }

export type CallToolDeps = {
  session_id: string
  turn_id: string
  iteration_index: number
  /** Absolute path of an existing folder. */
  workspace: string
  /** Store of checkpoints, outside every workspace; null: none are kept. */
  checkpoints: string | null
  tools: ReadonlyMap<string, Tool>
  policy: GovernanceConfig
  agentTools: readonly string[] | undefined
  sessionAllowList?: readonly string[] | undefined
  /** `governance.log_allowed`. */
  logAllowed: boolean
  /** What a running saga writes beside a call and its result. */
  saga: CallSteps
  timeoutMs: number
  signal: AbortSignal
  clock: Clock
  newId: () => string
  /** Already fenced by the caller; rejects when the lease is gone. */
  commit(events: readonly Draft[]): Promise<unknown>
  /** LogStore.findGrant of this session. */
  findGrant(tool: string, argumentsHash: string): Promise<Grant | null>
  gates: OpenGates
  /** The store's: what is shown of arguments is what is recorded of them. */
  redact: Redact
}

export type GateDeps = Pick<
  CallToolDeps,
  'policy' | 'agentTools' | 'sessionAllowList' | 'workspace' | 'findGrant'
>

export type CallOutcome = {
  tool_call_id: string
  name: string
  status: 'ok' | 'failed' | 'refused' | 'gated' | 'suspended'
  /** As the model reads it; null while suspended. */ content: string | null
}

const EXCERPT_CHARS = 500

type Parsed =
  | {
      raw: Record<string, unknown>
      args: Record<string, unknown>
      /** What an approval covers. */ hash: string
    }
  | { raw: Record<string, unknown>; problem: string }

/** The arguments as the model wrote them. */
function parseObject(text: string): { raw: Record<string, unknown>; problem?: string } {
  let value: unknown
  try {
    // Some models send nothing where there is nothing to say.
    value = text.trim() === '' ? {} : JSON.parse(text)
  } catch (thrown) {
    return { raw: {}, problem: `they are not JSON (${asError(thrown).message})` }
  }
  if (nestsTooDeep(value)) return { raw: {}, problem: `they are nested deeper than ${MAX_DEPTH} levels` }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return { raw: value as Record<string, unknown> }
  return {
    raw: {},
    problem: `they must be a JSON object, not ${Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`}`,
  }
}

/** The arguments as the tool gets them: the workspace's path put in, and parsed by the tool's schema. */
export function parseArguments(text: string, tool: Tool, unmask: <T>(value: T) => T): Parsed {
  const { raw, problem } = parseObject(text)
  if (problem !== undefined) return { raw, problem }
  const parsed = tool.parameters.safeParse(unmask(raw))
  if (!parsed.success) {
    return {
      raw,
      problem: parsed.error.issues
        .slice(0, 5)
        .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
        .join('; '),
    }
  }
  try {
    return { raw, args: parsed.data, hash: argumentsHash(parsed.data) }
  } catch (thrown) {
    return { raw, problem: asError(thrown).message }
  }
}

const marksIn = (json: string): number => json.split(REDACTED).length - 1

/** Arguments as the record has them, and how many parts of them were taken out: what hides says so. */
function recordedArguments(
  redact: Redact,
  args: Record<string, unknown>,
): { arguments: Record<string, unknown>; redactions?: number } {
  const json = JSON.stringify(args)
  const recorded = redact(json, 'arguments')
  if (recorded === json) return { arguments: args }
  return {
    arguments: JSON.parse(recorded) as Record<string, unknown>,
    redactions: Math.max(1, marksIn(recorded) - marksIn(json)),
  }
}

const textsOf = (args: Record<string, unknown>, names: readonly string[] = []): string[] =>
  names.flatMap(name => args[name]).filter((value): value is string => typeof value === 'string')

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

/** A decision, and where an approval let the call pass, the grant that it spends. */
export type Gated = GateDecision & { grant?: Grant }

/** Stands for the grant that a call has spent already, or that its approval was worth. */
export const SPENT: Grant = { id: '', granted_by: null }

/** Every call passes here, those of an expert too. */
export async function gate(
  deps: GateDeps,
  tool: Tool,
  args: Record<string, unknown>,
  hash: string,
): Promise<Gated> {
  const { policy, agentTools, sessionAllowList } = deps
  const input: GateInput = {
    policy,
    agentTools,
    sessionAllowList,
    tool: tool.name,
    hasGrant: false,
    pathProblem: await findPathProblem(tool, args, deps.workspace),
    urlProblem: findUrlProblem(tool, args, policy.egress),
  }
  const decision = decideGate(input)
  // The store is asked only where an approval is what is missing.
  const grant = !decision.allow && decision.overridable ? await deps.findGrant(tool.name, hash) : null
  if (grant === null) return decision
  const granted = decideGate({ ...input, hasGrant: true })
  return granted.allow ? { ...granted, grant } : granted
}

/** Why a call did not reach its tool: what the model reads, and what is written before the result. */
type Refusal = {
  status: 'failed' | 'refused' | 'gated'
  content: Record<string, unknown>
  events: readonly Draft[]
}

function denied(
  deps: CallToolDeps,
  call: Call,
  args: Record<string, unknown>,
  denial: Extract<GateDecision, { allow: false }>,
  hash: string,
  repeats: string | null,
): Refusal {
  const { tool_call_id, name } = call
  const event = policyDenied(name, denial, tool_call_id, deps.clock.now())
  if (!denial.overridable)
    return { status: 'refused', content: { error: `Blocked: ${denial.reason}` }, events: [event] }
  const shown = recordedArguments(deps.redact, workspaceMask(deps.workspace).mask(args))
  const arguments_excerpt = clip(canonicalJson(shown.arguments), EXCERPT_CHARS)
  const about = {
    tool_name: name,
    tool_call_id,
    arguments_excerpt,
    deny_reason: denial.reason,
    policy_id: denial.policy_id,
  }
  if (repeats !== null) {
    const message = `${denial.reason}; this call was made before (${repeats}) and nobody has decided on it yet: do not repeat it, you are told when somebody has`
    return {
      status: 'gated',
      content: { error: 'policy_blocked_overridable', message, tool_call_id },
      events: [event, repeatGate({ ...about, repeats_tool_call_id: repeats })],
    }
  }
  const shown_hash = argumentsHash(shown.arguments)
  const raised = raiseGate(deps, { ...about, ...shown, shown_hash, arguments_hash: hash })
  return {
    status: 'gated',
    content: { error: 'policy_blocked_overridable', message: denial.reason, tool_call_id },
    events: [event, raised.draft],
  }
}

export async function callTool(deps: CallToolDeps, call: Call): Promise<CallOutcome> {
  deps.signal.throwIfAborted()
  const { mask, unmask } = workspaceMask(deps.workspace)
  const { tool_call_id, name } = call
  const place = { turn_id: deps.turn_id, iteration_index: deps.iteration_index }
  const tool = deps.tools.get(name)
  const parsed: Parsed =
    tool === undefined
      ? { problem: 'there is no such tool', ...parseObject(call.arguments) }
      : parseArguments(call.arguments, tool, unmask)
  const called = (extra: { checkpoint_hash?: string } = {}) =>
    toolCall({ tool_call_id, name, ...recordedArguments(deps.redact, mask(parsed.raw)), ...extra, ...place })

  const refuse = async ({ status, content, events }: Refusal): Promise<CallOutcome> => {
    const text = JSON.stringify(mask(content))
    const result = toolResult({ tool_call_id, name, content: text, elapsed_ms: 0, ...place })
    await deps.commit([called(), ...events, result])
    return { tool_call_id, name, status, content: text }
  }

  const deny = (
    args: Record<string, unknown>,
    denial: Extract<GateDecision, { allow: false }>,
    hash: string,
  ): Promise<CallOutcome> => {
    if (!denial.overridable) return refuse(denied(deps, call, args, denial, hash, null))
    return deps.gates.inTurn(async () =>
      refuse(denied(deps, call, args, denial, hash, await deps.gates.find(name, hash))),
    )
  }

  if (tool === undefined)
    return refuse({
      status: 'failed',
      content: unknownTool(
        name,
        [...deps.tools.keys()].filter(known => isOffered(known, deps)),
      ),
      events: [],
    })
  if ('problem' in parsed)
    return refuse({ status: 'failed', content: failure(`invalid arguments: ${parsed.problem}`), events: [] })
  const { args, hash } = parsed
  const decision = await gate(deps, tool, args, hash)
  if (!decision.allow) return deny(args, decision, hash)
  const { grant } = decision

  let checkpoint: { checkpoint_hash?: string }
  try {
    checkpoint = await keepCheckpoint(deps, tool, args)
  } catch (thrown) {
    return refuse({ status: 'failed', content: failure(asError(thrown).message), events: [] })
  }
  const passes = [
    ...(deps.logAllowed ? [policyAllowedPass(name, deps.clock.now())] : []),
    ...(grant === undefined ? [] : [policyAllowedGrant(name, tool_call_id, grant.granted_by)]),
  ]
  try {
    const call = called(checkpoint)
    await deps.commit([
      grant === undefined
        ? call
        : withRows(call, { do: 'grant.consume', id: grant.id, tool: name, arguments_hash: hash }),
      ...deps.saga.begin(tool, { tool_call_id, arguments: mask(parsed.raw), ...checkpoint }),
      ...passes,
      ...(tool.begins?.(mask(args), tool_call_id) ?? []),
    ])
  } catch (thrown) {
    // Another call spent the approval, or it ran out, since the gate looked: this one asks anew.
    if (!(thrown instanceof CommitRefused) || thrown.refusal !== 'no_grant') throw thrown
    const again = await gate({ ...deps, findGrant: () => Promise.resolve(null) }, tool, args, hash)
    if (again.allow) throw thrown
    return deny(args, again, hash)
  }
  return runCommitted(deps, tool, call, args)
}

async function keepCheckpoint(
  deps: CallToolDeps,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<{ checkpoint_hash?: string }> {
  if (deps.checkpoints === null || !tool.mutatesFiles) return {}
  return {
    checkpoint_hash: await saveCheckpoint(deps.checkpoints, deps.workspace, textsOf(args, tool.paths)),
  }
}

/** Runs a tool whose tool.call is on disk, and writes what came of it. */
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

/** Arguments of a call that was recorded by a worker that is gone; null when they do not parse any more. */
export function reparse(deps: CallToolDeps, tool: Tool, call: Call): Record<string, unknown> | null {
  const parsed = parseArguments(call.arguments, tool, workspaceMask(deps.workspace).unmask)
  return 'problem' in parsed ? null : parsed.args
}

/**
 * Whether a call that was let through once would be let through now, the approval it spent counted as given.
 */
export async function stillAllowed(
  deps: CallToolDeps,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<boolean> {
  return (await gate({ ...deps, findGrant: () => Promise.resolve(SPENT) }, tool, args, '')).allow
}
