/**
 * What every log must satisfy, whoever wrote it and however often its writers died: an independent reading of
 * Contract 2, 6, 7, 10, sharing nothing with the code that writes. Crash tests and `cairn doctor`
 * use it.
 */
import { type EventId, factsOf, fitsContract, type SessionEvent } from '@cairn/protocol'
import { adviceRules } from './history-advice.ts'
import { commandRules } from './history-commands.ts'
import { goalRules } from './history-goals.ts'
import { sagaRules } from './history-sagas.ts'
import { isReviewWake } from './review.ts'

export type HistoryOptions = {
  /** Nobody is at work on the session any more: its last turn has an end, or waits for an answer. */
  settled?: boolean
}

type Status = 'active' | 'paused' | 'completed' | 'failed'
type Call = {
  name: string
  turn: string | undefined
  iteration: number | undefined
  call: EventId | null
  asked: EventId | null
  denied: EventId | null
  gated: EventId | null
  closed: EventId | null
}

/** Violations, each a sentence that names the event; an empty list is a sound log. */
export function checkHistory(
  events: readonly SessionEvent[],
  { settled = false }: HistoryOptions = {},
): string[] {
  const found: string[] = []
  const wrong = (event: SessionEvent, what: string): void =>
    void found.push(`event ${event.id} (${event.type}): ${what}`)

  const calls = new Map<string, Call>()
  const responses = new Set<string>()
  const summaries = new Set<string>()
  const turnSummaries = new Set<string>()
  let status: Status = 'active'
  let awake = false
  /**
   * Something was said since the last turn ended in order, or work was begun: whoever wakes has something to
   * bring to an end.
   */
  let due = false
  let inTurn = false
  /** The call of the model under way: where deltas may stand, and may have been pruned. */
  let request: { key: string; turn: string; iteration: number } | null = null
  let lastIteration: { turn: string; iteration: number } | null = null
  let approvals = 0
  /** The user was asked to do something, and nothing was said since. */
  let waitsForAction = false
  let before: SessionEvent | null = null
  const checkGoal = goalRules()
  const checkCommand = commandRules()
  const checkAdvice = adviceRules()
  const sagas = sagaRules()

  for (const event of events) {
    const expected: EventId = before === null ? 1 : before.id + 1
    if (event.id < expected) wrong(event, `its id does not come after ${before?.id}`)
    else if (event.id > expected && request === null)
      wrong(event, `ids ${expected} to ${event.id - 1} are missing where no chunk can have been pruned`)
    if (before !== null && event.session_id !== before.session_id)
      wrong(event, 'it belongs to another session')
    if (
      before?.type === 'turn.summary' &&
      event.type !== 'session.complete' &&
      event.type !== 'outcome.continuation'
    )
      wrong(event, 'a turn.summary is followed by its session.complete, or by the continuation of a goal')
    if (!fitsContract(event)) wrong(event, 'its data does not fit the contract of its type')
    const { worker, wakes } = factsOf(event.type)
    if (worker && !awake) wrong(event, 'no worker is awake')
    // What answers a command between turns answers it in full.
    if (event.type === 'llm.response' && event.data.turn_id === undefined) due &&= inTurn
    // A resume alone may find nothing to do.
    else if (worker || (wakes && event.type !== 'session.resume')) due = true
    if (event.type === 'llm.request') inTurn = true
    for (const what of checkGoal(event)) wrong(event, what)
    for (const what of checkCommand(event)) wrong(event, what)
    for (const what of checkAdvice(event)) wrong(event, what)
    for (const what of sagas.check(event)) wrong(event, what)

    switch (event.type) {
      case 'harness.wake':
        if (isReviewWake(event)) {
          // It looks back over a session that rests, and is nobody's turn.
          if (status !== 'completed') wrong(event, `a review began while the session was ${status}`)
          break
        }
        if (status !== 'active') wrong(event, `a worker woke while the session was ${status}`)
        awake = true
        break
      case 'harness.recovered':
      case 'outcome.continuation':
        awake = false
        break
      case 'inbox.action_required':
        if (event.data.proposal === undefined) waitsForAction = true
        break
      case 'user.message':
        waitsForAction = false
        if (status === 'completed' || status === 'failed')
          wrong(event, `a message without session.resume while the session was ${status}`)
        if (event.data.synthetic === 'governance_decision' && event.data.metadata?.['decision'] === 'approve')
          approvals++
        break
      case 'session.resume':
        if (status === 'active') wrong(event, 'resumed while active')
        status = 'active'
        break
      case 'session.pause':
      case 'session.stopped':
      case 'session.complete':
      case 'session.fail':
        if (status !== 'active') wrong(event, `while the session was ${status}`)
        if (event.type === 'session.stopped' || event.type === 'session.complete') due = false
        if (event.type !== 'session.pause') inTurn = false
        if (event.type !== 'session.stopped')
          status =
            event.type === 'session.pause'
              ? 'paused'
              : event.type === 'session.complete'
                ? 'completed'
                : 'failed'
        awake = false
        if (event.type === 'session.complete' && openOf(calls).length > 0)
          wrong(event, `calls without a result: ${openOf(calls).join(', ')}`)
        if (event.type !== 'session.pause') request = null
        break
      case 'llm.request': {
        const { turn_id, iteration_index } = event.data
        if (openOf(calls).length > 0)
          wrong(event, `the model is called while calls have no result: ${openOf(calls).join(', ')}`)
        const next = lastIteration?.turn === turn_id ? lastIteration.iteration + 1 : 0
        if (iteration_index !== next) wrong(event, `iteration ${iteration_index} where ${next} is due`)
        request = { key: `${turn_id} ${iteration_index}`, turn: turn_id, iteration: iteration_index }
        break
      }
      case 'llm.delta':
      case 'llm.heartbeat':
      case 'llm.thinking':
        if (request?.key !== `${event.data.turn_id} ${event.data.iteration_index}`)
          wrong(event, 'it belongs to no call of the model under way')
        break
      case 'llm.response': {
        const { turn_id, iteration_index, message } = event.data
        if (turn_id !== undefined) {
          const key = `${turn_id} ${iteration_index}`
          if (responses.has(key)) wrong(event, 'its iteration was answered before')
          if (request?.key !== key) wrong(event, 'it answers no call of the model under way')
          responses.add(key)
          lastIteration = { turn: turn_id, iteration: iteration_index ?? 0 }
          request = null
        }
        for (const made of message.tool_calls ?? []) {
          if (calls.has(made.id)) wrong(event, `tool_call_id ${made.id} was used before`)
          calls.set(made.id, {
            name: made.function.name,
            turn: turn_id,
            iteration: iteration_index,
            call: null,
            asked: null,
            denied: null,
            gated: null,
            closed: null,
          })
        }
        break
      }
      case 'tool.call': {
        const call = calls.get(event.data.tool_call_id)
        if (!call) wrong(event, 'no answer of the model made this call')
        else if (call.call !== null) wrong(event, `the call was started before, at ${call.call}`)
        else if (call.closed !== null) wrong(event, `the call had its result before, at ${call.closed}`)
        else if (call.name !== event.data.name) wrong(event, `the model called ${call.name}`)
        if (call) call.call = event.id
        break
      }
      case 'tool.result':
      case 'ask_user_question.response': {
        const call = calls.get(event.data.tool_call_id)
        if (!call) wrong(event, 'no answer of the model made this call')
        else if (call.closed !== null) wrong(event, `the call had its result before, at ${call.closed}`)
        else if (event.type === 'ask_user_question.response' && call.asked === null)
          wrong(event, 'the question was never put')
        else if (event.type === 'tool.result' && event.data.elapsed_ms > 0 && call.call === null)
          wrong(event, 'a tool ran without tool.call')
        else if (event.type === 'tool.result' && event.data.elapsed_ms > 0 && call.denied !== null)
          wrong(event, 'a denied tool ran')
        if (call) call.closed = event.id
        break
      }
      case 'policy.denied':
      case 'inbox.governance_gate':
      case 'inbox.input_required': {
        const id = event.data.tool_call_id
        const call = id === undefined ? undefined : calls.get(id)
        if (!call || call.call === null || call.closed !== null)
          wrong(event, 'it stands outside a running call')
        else if (event.type === 'policy.denied') call.denied = event.id
        else if (event.type === 'inbox.input_required') call.asked = event.id
        else if (call.denied === null) wrong(event, 'a gate without its policy.denied')
        else call.gated = event.id
        break
      }
      case 'policy.allowed':
        if ('reason' in event.data && --approvals < 0)
          wrong(event, 'more calls were let through by approval than were approved')
        break
      case 'iteration.summary': {
        const key = `${event.data.turn_id} ${event.data.iteration_index}`
        if (!responses.has(key)) wrong(event, 'its iteration has no answer')
        if (summaries.has(key)) wrong(event, 'its iteration was summed up before')
        summaries.add(key)
        const open = event.data.tool_call_ids.filter(id => calls.get(id)?.closed === null)
        if (open.length > 0) wrong(event, `calls of the iteration without a result: ${open.join(', ')}`)
        break
      }
      case 'turn.summary':
        if (turnSummaries.has(event.data.turn_id)) wrong(event, 'its turn was summed up before')
        turnSummaries.add(event.data.turn_id)
        break
      default:
    }
    before = event
  }

  if (before !== null && settled) {
    for (const what of sagas.atEnd()) wrong(before, what)
    if (before.type === 'turn.summary') wrong(before, 'the log ends on it')
    const waits =
      [...calls.values()].some(call => call.asked !== null && call.closed === null) || waitsForAction
    if (awake && due && status === 'active' && !waits) wrong(before, 'the log ends within a turn')
  }
  return found
}

const openOf = (calls: ReadonlyMap<string, Call>): string[] =>
  [...calls].flatMap(([id, call]) => (call.closed === null ? [id] : []))
