/** Tool calls, their approvals and their results. */
import { type EventOf, isHeld, toolError } from '@cairn/protocol'
import type { Change } from './change.ts'
import { type FoldState, type OpenCall, restIfWaiting } from './state.ts'

/** Tools that ask a person: shown as a question, not as a call. */
const ASKING: readonly string[] = ['ask_user_question', 'request_user_action']

const NOT_REPEATED = 'The call was approved, but the agent did not repeat it.'
const NOT_FINISHED = 'The turn ended before this call had a result.'

const shown = (call: string, { name, input }: OpenCall, waits: boolean): Change => ({
  kind: 'call',
  call,
  name,
  input,
  waits,
})

export function onCall(state: FoldState, { data }: EventOf<'tool.call'>): Change[] {
  const { tool_call_id: id, name, arguments: input, verdict, approves_tool_call_id: gated } = data
  if (gated !== undefined && Object.hasOwn(state.calls, gated)) {
    state.repeats[id] = gated
    return []
  }
  // Ids of calls may repeat in another turn.
  const known = state.calls[id]
  if (known !== undefined) ungate(state, known)
  const isHeldBack = verdict === 'ask' || (verdict === undefined && ASKING.includes(name))
  const call: OpenCall = {
    name,
    input,
    state: isHeldBack ? 'held' : 'open',
    step: state.step,
    gate: null,
    of_run: false,
  }
  state.calls[id] = call
  return isHeldBack ? [] : [shown(id, call, false)]
}

export function onResult(state: FoldState, { data }: EventOf<'tool.result'>): Change[] {
  const { tool_call_id, content } = data
  state.pending = state.pending.filter(id => id !== tool_call_id)
  return [...resultOf(state, tool_call_id, content), ...restIfWaiting(state)]
}

function resultOf(state: FoldState, tool_call_id: string, content: string): Change[] {
  const id = state.repeats[tool_call_id] ?? tool_call_id
  const call = state.calls[id]
  if (call === undefined || call.state === 'done' || call.state === 'hidden') return []
  if (call.state === 'gated' && isHeld(content)) return []
  ungate(state, call)
  const first = call.state === 'held' ? [shown(id, call, false)] : []
  return [...first, ...finish(id, call, content, toolError(content) !== null)]
}

function ungate({ gates }: FoldState, { gate }: OpenCall): void {
  if (gate !== null) delete gates[gate]
}

function finish(id: string, call: OpenCall, content: string, failed: boolean): Change[] {
  call.state = 'done'
  return [{ kind: 'result', call: id, name: call.name, content, failed }]
}

const failure = (error: string): string => JSON.stringify({ error })

export function onGate(state: FoldState, { id, data }: EventOf<'inbox.governance_gate'>): Change[] {
  const { tool_call_id, tool_name, deny_reason, shown_hash, redactions } = data
  if (data.repeats_tool_call_id !== undefined) {
    const again = state.calls[tool_call_id]
    if (again?.state === 'held') again.state = 'hidden'
    return []
  }
  const known = state.calls[tool_call_id]
  const call: OpenCall = known ?? {
    name: tool_name,
    input: data.arguments ?? {},
    state: 'held',
    step: state.step,
    gate: null,
    of_run: data.run_id !== undefined,
  }
  state.calls[tool_call_id] = call
  const first = call.state === 'held' ? [shown(tool_call_id, call, true)] : []
  ungate(state, call)
  call.state = 'gated'
  call.gate = id
  state.gates[id] = tool_call_id
  return [
    ...first,
    {
      kind: 'gate',
      gate: id,
      call: tool_call_id,
      name: tool_name,
      input: data.arguments ?? call.input,
      reason: deny_reason,
      shown_hash: shown_hash ?? null,
      redactions: redactions ?? 0,
    },
  ]
}

/** A decision about a call of an earlier exchange starts a turn of this one, and is not shown. */
export function onDecision(state: FoldState, { data }: EventOf<'user.message'>): Change[] {
  const id = data.tool_call_id ?? ''
  const call = state.calls[id]
  state.running = true
  if (call === undefined || call.gate === null || call.state !== 'gated') return []
  const approved = data.metadata?.['decision'] === 'approve'
  const decided: Change = { kind: 'decided', gate: call.gate, call: id, approved, reason: null }
  call.state = approved ? 'approved' : 'done'
  ungate(state, call)
  return approved && call.of_run
    ? [decided, ...finish(id, call, 'Approved: the coding agent continues.', false)]
    : [decided]
}

/** Results for calls that get none: the turn is over. Undecided approvals stay open. */
export function closeCalls({ calls }: FoldState): Change[] {
  return Object.entries(calls).flatMap(([id, call]) =>
    call.state === 'approved'
      ? finish(id, call, failure(NOT_REPEATED), true)
      : call.state === 'open'
        ? finish(id, call, failure(NOT_FINISHED), true)
        : [],
  )
}
