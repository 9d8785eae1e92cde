/** Runs the calls of one answer in order, and settles those that an earlier turn or runner left open. */
import { REDACTED } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import { reparse } from './arguments.ts'
import type { Call, CallOutcome, CallToolDeps } from './call.ts'
import { callTool } from './call-tool.ts'
import { stillAllowed } from './gate.ts'
import { runCommitted } from './run-committed.ts'
import { toolResult } from './events.ts'
import { failure } from './run-tool.ts'

/** The state of a call, as in `OpenCall` of @cairn/state. */
export type OpenCall = Call & { state: 'asked' | 'called' | 'waiting' | 'answered' }

/** Adjacent read-only calls run together; every other call runs alone, in its place. */
export function groupCalls<C extends Call>(calls: readonly C[], isReadOnly: (call: C) => boolean): C[][] {
  const groups: C[][] = []
  let open: C[] | undefined
  for (const call of calls) {
    if (!isReadOnly(call)) {
      groups.push([call])
      open = undefined
    } else if (open === undefined) groups.push((open = [call]))
    else open.push(call)
  }
  return groups
}

/**
 * Runs calls that are `asked` and settles those that are `called`; calls `waiting` for a person are left
 * alone. Outcomes are in the order of the calls. When one rejects (the lease is lost), the others of its
 * group are aborted, and it rejects after all have ended.
 */
export async function runCalls(deps: CallToolDeps, calls: readonly OpenCall[]): Promise<CallOutcome[]> {
  // A call starts at most once: if a server uses one id for two calls, the first one counts.
  const once = calls.filter(
    (call, index) =>
      call.state !== 'waiting' &&
      calls.findIndex(({ tool_call_id }) => tool_call_id === call.tool_call_id) === index,
  )
  const outcomes: CallOutcome[] = []
  for (const group of groupCalls(once, call => deps.tools.get(call.name)?.readOnly === true)) {
    const stop = new AbortController()
    const groupDeps =
      group.length === 1 ? deps : { ...deps, signal: AbortSignal.any([deps.signal, stop.signal]) }
    const settled = await Promise.allSettled(
      group.map(async call => {
        try {
          return await (call.state === 'called' ? settleCall(groupDeps, call) : callTool(groupDeps, call))
        } catch (error) {
          stop.abort(error)
          throw error
        }
      }),
    )
    const failed = settled.find(one => one.status === 'rejected')
    // Throw the original error, not the resulting aborts.
    if (failed !== undefined) throw stop.signal.reason
    outcomes.push(...settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : [])))
  }
  return outcomes
}

const UNKNOWN = {
  ...failure(
    'outcome unknown: the runner stopped while this tool was running; it may or may not have taken effect',
  ),
  outcome: 'unknown',
}

/**
 * A call that was on disk when its runner crashed: repeated if that is safe, otherwise its outcome is
 * recorded as unknown.
 */
async function settleCall(deps: CallToolDeps, call: Call): Promise<CallOutcome> {
  const tool = deps.tools.get(call.name)
  // Redacted arguments were lost with their runner; running without them would be a different call.
  const whole = !call.arguments.includes(REDACTED)
  if (
    tool !== undefined &&
    whole &&
    (tool.readOnly || tool.idempotent) &&
    !deps.saga.isOver(tool, call.tool_call_id)
  ) {
    const args = reparse(deps, tool, call)
    if (args !== null && (await stillAllowed(deps, tool, args))) return runCommitted(deps, tool, call, args)
  }
  return writeResult(deps, call, UNKNOWN, SOME_TIME, lostEvents(deps, call))
}

/** The events of a started tool whose outcome is lost. */
function lostEvents(deps: CallToolDeps, call: Call): readonly EventDraft[] {
  const tool = deps.tools.get(call.name)
  return tool?.lost?.((tool && reparse(deps, tool, call)) ?? {}, call.tool_call_id) ?? []
}

/** `elapsed_ms` 0 means that nothing ran; the duration of a lost run is unknown but not 0. */
const NOT_STARTED = 0
const SOME_TIME = 1

async function writeResult(
  deps: CallToolDeps,
  { tool_call_id, name }: Call,
  body: Record<string, unknown>,
  elapsed_ms = SOME_TIME,
  before: readonly EventDraft[] = [],
): Promise<CallOutcome> {
  const content = JSON.stringify(body)
  await deps.commit([
    ...before,
    toolResult({
      tool_call_id,
      name,
      content,
      elapsed_ms,
      turn_id: deps.turn_id,
      iteration_index: deps.iteration_index,
    }),
    ...deps.saga.end(tool_call_id, { arguments: {}, content, result: body, failed: true }),
  ])
  return { tool_call_id, name, status: 'failed', content }
}

export type CloseReason = 'turn_ended' | 'question_passed_over'

/**
 * Closes open calls without running anything: those of a stopped turn, and questions that the user answered
 * by a message.
 */
export async function closeCalls(
  deps: CallToolDeps,
  calls: readonly OpenCall[],
  reason: CloseReason,
): Promise<CallOutcome[]> {
  const outcomes: CallOutcome[] = []
  for (const call of calls) {
    const body =
      reason === 'question_passed_over'
        ? { cancelled: true, reason: 'the user sent a message instead of an answer' }
        : call.state === 'called'
          ? UNKNOWN
          : call.state === 'waiting'
            ? { cancelled: true, reason: 'the turn ended before there was an answer' }
            : failure('not started: the turn ended before this call')
    const began = call.state === 'called' && reason === 'turn_ended'
    outcomes.push(
      await writeResult(
        deps,
        call,
        body,
        call.state === 'asked' ? NOT_STARTED : SOME_TIME,
        began ? lostEvents(deps, call) : [],
      ),
    )
  }
  return outcomes
}
