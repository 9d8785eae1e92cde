/** The order of a mission's events (contract 14.5), as rules over one log. Part of `checkHistory`. */
import {
  type EventId,
  type EventOf,
  isMissionOver,
  type MissionStatus,
  type SessionEvent,
} from '@cairn/protocol'

type Mission = {
  id: string
  status: MissionStatus
  defined_at: EventId
  /** Graded rounds. */
  finished: number
  span: { start: EventId; iteration: number } | null
  /** A needs_revision verdict whose continuation is missing. */
  owed: EventId | null
}
export type MissionRules = {
  /** Feed it the events of a log in order; it returns the violations of the event. */
  check(event: SessionEvent): string[]
  /** Violations if the log ends here and no runner works on the session any more. */
  atEnd(): string[]
}
/** The violations of an event, and the mission after it. */
type Checked = [found: string[], mission: Mission | null]

export function missionRules(): MissionRules {
  let mission: Mission | null = null
  let before: SessionEvent['type'] | null = null
  let standing: 'active' | 'paused' | 'completed' | 'failed' = 'active'
  const responses = new Set<EventId>()
  /** Workers without an outcome. */
  const open = new Set<string>()
  return {
    check(event) {
      const [found, after] = check(mission, event, responses)
      const wrong = [...messageRules(before, event), ...toldRules(mission, event), ...found]
      if (event.type === 'mission.cancelled' && event.data.cascade_to_workers)
        for (const worker of open) wrong.push(`worker ${worker} is open after the cancel that should end it`)
      mission = after
      if (event.type === 'llm.response') responses.add(event.id)
      if (event.type === 'worker.spawned') open.add(event.data.worker_id)
      if (event.type === 'worker.complete' || event.type === 'worker.failed')
        open.delete(event.data.worker_id)
      standing = STANDING[event.type] ?? standing
      before = event.type
      return wrong
    },
    atEnd() {
      if (mission === null || standing === 'paused') return []
      if (mission.span !== null) return [`the grading that event ${mission.span.start} started has no end`]
      return mission.status === 'active' && standing === 'completed'
        ? [`mission ${mission.id} is active, but its session has ended without a verdict`]
        : []
    },
  }
}

const STANDING: Partial<Record<SessionEvent['type'], 'active' | 'paused' | 'completed' | 'failed'>> = {
  'session.pause': 'paused',
  'session.resume': 'active',
  'session.complete': 'completed',
  'session.fail': 'failed',
}

/** A continuation is directly followed by its message. */
function messageRules(before: SessionEvent['type'] | null, event: SessionEvent): string[] {
  const continues = event.type === 'user.message' && event.data.synthetic === 'mission_continuation'
  if (before === 'mission.continuation' && !continues)
    return ['a mission.continuation must be followed by its message']
  return continues && before !== 'mission.continuation' ? ['no mission.continuation precedes it'] : []
}

const TOLD = new Set(['mission_kickoff', 'mission_resumed', 'mission_deadline'])
/** A mission writes messages to its session only while it is active. */
function toldRules(mission: Mission | null, event: SessionEvent): string[] {
  if (event.type !== 'user.message' || !TOLD.has(event.data.synthetic ?? '')) return []
  return mission?.status === 'active' && mission.id === event.data.mission_id
    ? []
    : [`${event.data.synthetic} for a mission that is not active`]
}

function check(mission: Mission | null, event: SessionEvent, responses: ReadonlySet<EventId>): Checked {
  switch (event.type) {
    case 'mission.defined':
      return [
        mission !== null && !isMissionOver(mission.status)
          ? [`a mission is defined while ${mission.id} is ${mission.status}`]
          : [],
        {
          id: event.data.mission_id,
          status: 'active',
          defined_at: event.id,
          finished: 0,
          span: null,
          owed: null,
        },
      ]
    case 'mission.evaluation.start':
      return gradingBegins(mission, event, responses)
    case 'mission.evaluation.end':
      return gradingEnds(mission, event)
    case 'mission.continuation':
      return continued(mission, event)
    case 'mission.paused':
      return moved(mission, event.data.mission_id, ['active'], 'paused')
    case 'mission.resumed':
      return moved(mission, event.data.mission_id, ['paused', 'blocked'], 'active')
    case 'mission.cancelled':
      return moved(mission, event.data.mission_id, ['active', 'paused', 'blocked'], 'cancelled')
    case 'session.complete':
    case 'session.fail':
    case 'session.stopped':
      return [[], mission === null ? null : { ...mission, span: null }]
    default:
      return [[], mission]
  }
}

function moved(
  mission: Mission | null,
  id: string,
  from: readonly MissionStatus[],
  status: MissionStatus,
): Checked {
  if (mission?.id !== id || !from.includes(mission.status))
    return [[`mission ${id} is not ${from.join(' or ')}`], mission]
  return [[], { ...mission, status, owed: null, span: isMissionOver(status) ? null : mission.span }]
}

function gradingBegins(
  mission: Mission | null,
  { id, data }: EventOf<'mission.evaluation.start'>,
  responses: ReadonlySet<EventId>,
): Checked {
  const { mission_id, iteration, response_event_id } = data
  if (mission?.id !== mission_id || mission.status !== 'active')
    return [['it grades a mission that is not active'], mission]
  const isAnswer = responses.has(response_event_id) || response_event_id === mission.defined_at
  const found = [
    ...(mission.span !== null ? [`the span of ${mission.span.start} is open`] : []),
    ...(iteration !== mission.finished ? [`iteration is ${iteration}, expected ${mission.finished}`] : []),
    ...(isAnswer ? [] : ['response_event_id does not name an earlier llm.response']),
  ]
  return [found, { ...mission, span: { start: id, iteration }, owed: null }]
}

function gradingEnds(mission: Mission | null, { id, data }: EventOf<'mission.evaluation.end'>): Checked {
  const { mission_id, evaluation_start_id, iteration, result } = data
  if (!mission?.span || mission.id !== mission_id || mission.span.start !== evaluation_start_id)
    return [['its span is not open'], mission]
  const due = mission.span.iteration + 1
  return [
    iteration === due ? [] : [`iteration is ${iteration}, expected ${due}`],
    {
      ...mission,
      status: statusAfter(mission.status, result),
      finished: iteration,
      span: null,
      owed: result === 'needs_revision' ? id : null,
    },
  ]
}

/**
 * A mission that was paused during its evaluation ends with a final verdict; any other verdict leaves it
 * paused.
 */
function statusAfter(
  status: MissionStatus,
  result: EventOf<'mission.evaluation.end'>['data']['result'],
): MissionStatus {
  if (result === 'needs_revision') return status
  return status === 'paused' && !isMissionOver(result) ? 'paused' : result
}

function continued(mission: Mission | null, { data }: EventOf<'mission.continuation'>): Checked {
  const fits =
    mission?.id === data.mission_id &&
    mission.status === 'active' &&
    mission.owed !== null &&
    mission.owed === data.status_event_id &&
    mission.finished === data.iteration
  return [
    fits ? [] : ['no verdict of the active mission requires it'],
    mission === null ? null : { ...mission, owed: null },
  ]
}
