/**
 * The order of a goal's events (contract 14.10, 10), as rules over one log. Part of
 * `checkHistory`.
 */
import type { EventId, EventOf, SessionEvent } from '@cairn/protocol'

type Goal = {
  id: string
  state: 'active' | 'paused' | 'over'
  /** Graded iterations. */
  finished: number
  span: { start: EventId; iteration: number } | null
  /** A needs_revision verdict whose continuation is missing. */
  owed: EventId | null
}
/** The violations of an event, and the goal after it. */
type Checked = [found: string[], goal: Goal | null]
type Verdict = EventOf<'span.outcome_evaluation_end'>

/** Feed it the events of a log in order; it returns the violations of each. */
export function goalRules(): (event: SessionEvent) => string[] {
  let goal: Goal | null = null
  let before: SessionEvent['type'] | null = null
  const responses = new Set<EventId>()
  return event => {
    const found = messageRules(before, event)
    const [wrong, after] = check(goal, event, before, responses)
    goal = after
    if (event.type === 'llm.response') responses.add(event.id)
    before = event.type
    return [...found, ...wrong]
  }
}

/** A continuation is directly followed by its message. */
function messageRules(before: SessionEvent['type'] | null, event: SessionEvent): string[] {
  const continues = event.type === 'user.message' && event.data.synthetic === 'outcome_continuation'
  if (before === 'outcome.continuation' && !continues)
    return ['an outcome.continuation must be followed by its message']
  return continues && before !== 'outcome.continuation' ? ['no outcome.continuation precedes it'] : []
}

function check(
  goal: Goal | null,
  event: SessionEvent,
  before: SessionEvent['type'] | null,
  responses: ReadonlySet<EventId>,
): Checked {
  switch (event.type) {
    case 'user.define_outcome':
    case 'outcome.defined':
      return defined(goal, event.data.outcome_id, before)
    case 'span.outcome_evaluation_start':
      return gradingBegins(goal, event, responses)
    case 'span.outcome_evaluation_ongoing':
      return goal?.span && goal.id === event.data.outcome_id && goal.span.iteration === event.data.iteration
        ? [[], goal]
        : [['no span of that iteration is open'], goal]
    case 'span.outcome_evaluation_end':
      return gradingEnds(goal, event)
    case 'outcome.continuation':
      return continued(goal, event)
    case 'outcome.paused':
      return goal?.id === event.data.outcome_id && goal.state === 'active'
        ? [[], { ...goal, state: 'paused' }]
        : [['the goal it pauses is not active'], goal]
    case 'outcome.cleared': {
      const due = goal !== null && goal.state !== 'over' ? goal.id : null
      if (due === event.data.outcome_id) return [[], null]
      const cleared = event.data.outcome_id ?? 'nothing'
      return [[`it clears ${cleared}, but the current goal is ${due ?? 'none'}`], null]
    }
    case 'user.message':
      return [[], resumes(goal, event) ? { ...goal, state: 'active', owed: null } : goal]
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      return [[], goal === null ? null : { ...goal, span: null }]
    default:
      return [[], goal]
  }
}

function defined(goal: Goal | null, id: string, before: SessionEvent['type'] | null): Checked {
  // A new goal in the same request replaces the previous one directly.
  const found =
    goal !== null && goal.state !== 'over' && before !== 'user.define_outcome'
      ? [`a goal is set while ${goal.id} is ${goal.state}`]
      : []
  return [found, { id, state: 'active', finished: 0, span: null, owed: null }]
}

function gradingBegins(
  goal: Goal | null,
  { id, data }: EventOf<'span.outcome_evaluation_start'>,
  responses: ReadonlySet<EventId>,
): Checked {
  const { outcome_id, iteration, response_event_id } = data
  if (goal?.id !== outcome_id || goal.state !== 'active')
    return [['it grades a goal that is not active'], goal]
  const found = [
    ...(goal.span !== null ? [`the span of ${goal.span.start} is open`] : []),
    ...(iteration !== goal.finished ? [`iteration is ${iteration}, expected ${goal.finished}`] : []),
    ...(responses.has(response_event_id) ? [] : ['response_event_id does not name an earlier llm.response']),
  ]
  return [found, { ...goal, span: { start: id, iteration }, owed: null }]
}

function gradingEnds(goal: Goal | null, { id, data }: Verdict): Checked {
  const { outcome_id, outcome_evaluation_start_id, iteration, result } = data
  if (!goal?.span || goal.id !== outcome_id || goal.span.start !== outcome_evaluation_start_id)
    return [['its span is not open'], goal]
  const due = goal.span.iteration + 1
  return [
    iteration === due ? [] : [`iteration is ${iteration}, expected ${due}`],
    {
      ...goal,
      state: stateAfter(goal.state, result),
      finished: iteration,
      span: null,
      owed: result === 'needs_revision' ? id : null,
    },
  ]
}

function stateAfter(state: Goal['state'], result: Verdict['data']['result']): Goal['state'] {
  if (result === 'needs_revision') return state
  return result === 'paused' || (state === 'paused' && result !== 'satisfied') ? 'paused' : 'over'
}

function continued(goal: Goal | null, { data }: EventOf<'outcome.continuation'>): Checked {
  const fits =
    goal?.id === data.outcome_id &&
    goal.state === 'active' &&
    goal.owed !== null &&
    goal.owed === data.status_event_id &&
    goal.finished === data.iteration
  return [
    fits ? [] : ['no verdict of the active goal requires it'],
    goal === null ? null : { ...goal, owed: null },
  ]
}

const resumes = (goal: Goal | null, { data }: EventOf<'user.message'>): goal is Goal =>
  goal?.state === 'paused' && data.synthetic === 'outcome_resumed' && data.outcome_id === goal.id
