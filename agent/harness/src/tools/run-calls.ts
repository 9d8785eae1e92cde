/** The calls of one answer in their order, and those that a turn or a worker left behind. */
import { REDACTED } from '@cairn/log'
import type { EventDraft } from '@cairn/protocol'
import { reparse } from './arguments.ts'
import type { Call, CallOutcome, CallToolDeps } from './call.ts'
import { callTool } from './call-tool.ts'
import { stillAllowed } from './gate.ts'
import { runCommitted } from './run-committed.ts'
import { toolResult } from './events.ts'
import { failure } from './run-tool.ts'

/** Where a call stands; `OpenCall` of @cairn/state says the same. */
export type OpenCall = Call & { state: 'asked' | 'called' | 'waiting' | 'answered' }

/** Neighbours that only read run together; everything else runs alone, in its place. */
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
 * Runs what is `asked` and settles what is `called`; what is `waiting` for a person is left alone. Outcomes
 * come in the order of the calls. When one rejects (the lease is gone), the others of its group are told to
 * stop, and it rejects after all have.
 */
export async function runCalls(deps: CallToolDeps, calls: readonly OpenCall[]): Promise<CallOutcome[]> {
  // A call starts at most once: should a server give one id to two calls, the first is the call.
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
    // The first cause, not the echo of the stop.
    if (failed !== undefined) throw stop.signal.reason
    outcomes.push(...settled.flatMap(one => (one.status === 'fulfilled' ? [one.value] : [])))
  }
  return outcomes
}

const UNKNOWN = {
  ...failure(
    'outcome unknown: the worker stopped while this tool was running; it may or may not have taken effect',
  ),
  outcome: 'unknown',
}

/**
 * A call that was on disk when its worker died: run again if that can do no harm, else its outcome is
 * recorded as unknown.
 */
async function settleCall(deps: CallToolDeps, call: Call): Promise<CallOutcome> {
  const tool = deps.tools.get(call.name)
  // What the log took out of the arguments is gone with the worker that had them; without it this would be
  // another call.
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

/** What a tool that began has to say when its outcome is lost. */
function lostEvents(deps: CallToolDeps, call: Call): readonly EventDraft[] {
  const tool = deps.tools.get(call.name)
  return tool?.lost?.((tool && reparse(deps, tool, call)) ?? {}, call.tool_call_id) ?? []
}

/** `elapsed_ms` 0 says that nothing ran; how long a lost run took nobody knows, only that it was more. */
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
 * Closes open calls without running anything: those of a turn that was stopped, and questions the user
 * answered by a message.
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
