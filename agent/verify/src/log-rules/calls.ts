/**
 * Rules for tool calls: each comes from an answer, starts once, and has one result before the next model
 * call.
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'

type Call = {
  name: string
  call: EventId | null
  asked: EventId | null
  answered: EventId | null
  /** The stop that expired its question. */
  expired: EventId | null
  denied: EventId | null
  /**
   * Its result. For an answered question: the answer, until the result exists or the model was called again.
   */
  closed: EventId | null
}

const UNSEEN = { call: null, asked: null, answered: null, expired: null, denied: null, closed: null }

export type CallRules = {
  check(event: SessionEvent): Iterable<string>
  /** Whether the event is the result of an answered question; such a result starts no work. */
  concludes(event: SessionEvent): boolean
  /** Whether a person has been asked something. */
  waits(): boolean
}

/** Start of the result of an answered question. */
const ANSWER = /^\{\s*"responses"/

const isAnswered = (call: Call | undefined): boolean =>
  call !== undefined && call.answered !== null && call.closed === call.answered

/** The next model call takes existing answers for results. */
function* goOn(
  calls: ReadonlyMap<string, Call>,
  event: SessionEvent,
  current: boolean,
  ids: Iterable<string> = calls.keys(),
): Generator<string> {
  const open = [...ids].filter(id => calls.get(id)?.closed === null)
  if (open.length > 0)
    yield event.type === 'llm.request'
      ? `the model is called while calls have no result: ${open.join(', ')}`
      : `calls without a result: ${open.join(', ')}`
  for (const [id, call] of calls) {
    if (!isAnswered(call)) continue
    if (current) yield `the question ${id} was answered and has no tool.result`
    call.closed = event.id
  }
}

type Closing = EventOf<'tool.result'> | EventOf<'ask_user_question.response'>

function* close(call: Call | undefined, event: Closing): Generator<string> {
  if (call === undefined) return yield 'no answer of the model made this call'
  const concludes = event.type === 'tool.result' && isAnswered(call)
  if (call.closed !== null && !concludes) yield `the call had its result before, at ${call.closed}`
  else if (event.type === 'tool.result') {
    const { elapsed_ms, content } = event.data
    if (elapsed_ms > 0 && call.call === null) yield 'a tool ran without tool.call'
    else if (elapsed_ms > 0 && call.denied !== null) yield 'a denied tool ran'
    else if (call.answered !== null && !ANSWER.test(content))
      yield `it is not what was answered at ${call.answered}`
  } else if (call.asked === null) yield 'the question was never put'
  else if (call.expired !== null) yield `the question expired with the stop at ${call.expired}`
  if (event.type !== 'tool.result') call.answered = event.id
  call.closed = event.id
}

/**
 * `current`: every answered question has its tool.result, which older releases omitted, and a stopped
 * question has no answer.
 */
export function callRules(current: boolean): CallRules {
  const calls = new Map<string, Call>()
  const runs: string[] = []
  let approvals = 0

  function* check(event: SessionEvent): Generator<string> {
    switch (event.type) {
      case 'llm.response':
        for (const { id, function: made } of event.data.message.tool_calls ?? []) {
          if (calls.has(id)) yield `tool_call_id ${id} was used before`
          calls.set(id, { ...UNSEEN, name: made.name })
        }
        return
      case 'code.run_started':
        runs.push(event.data.run_id)
        return
      case 'tool.call': {
        const call = calls.get(event.data.tool_call_id)
        if (!call) return yield 'no answer of the model made this call'
        if (call.call !== null) yield `the call was started before, at ${call.call}`
        else if (call.closed !== null) yield `the call had its result before, at ${call.closed}`
        else if (call.name !== event.data.name) yield `the model called ${call.name}`
        call.call = event.id
        return
      }
      case 'tool.result':
      case 'ask_user_question.response':
        return yield* close(calls.get(event.data.tool_call_id), event)
      case 'policy.denied':
      case 'inbox.governance_gate':
      case 'inbox.input_required': {
        const id = event.data.tool_call_id
        // Calls made by a coding agent are not calls of the model.
        if (id !== undefined && runs.some(run => id.startsWith(`${run}:`))) return
        const call = id === undefined ? undefined : calls.get(id)
        if (!call || call.call === null || call.closed !== null) yield 'it stands outside a running call'
        else if (event.type === 'policy.denied') call.denied = event.id
        else if (event.type === 'inbox.input_required') call.asked = event.id
        else if (call.denied === null) yield 'a gate without its policy.denied'
        return
      }
      case 'user.message':
        if (event.data.synthetic === 'governance_decision' && event.data.metadata?.['decision'] === 'approve')
          approvals++
        return
      case 'policy.allowed':
        if ('reason' in event.data && --approvals < 0)
          yield 'more calls were let through by approval than were approved'
        return
      case 'session.stopped':
        // In logs of older releases a question survived a stop.
        if (current)
          for (const call of calls.values())
            if (call.asked !== null && call.closed === null) call.expired = event.id
        return
      case 'session.complete':
        // Stopping a worker ends it immediately, with calls open.
        return event.data.reason === 'stopped' ? undefined : yield* goOn(calls, event, current)
      case 'llm.request':
        return yield* goOn(calls, event, current)
      case 'iteration.summary':
        return yield* goOn(calls, event, current, event.data.tool_call_ids)
      default:
    }
  }

  return {
    check,
    concludes: event => event.type === 'tool.result' && isAnswered(calls.get(event.data.tool_call_id)),
    waits: () =>
      [...calls.values()].some(call => call.asked !== null && call.closed === null && call.expired === null),
  }
}
