/**
 * An operation on a session applies to its whole subtree in the same commit (contract 6.9): descendants of a
 * stopped session have ended, and descendants of a paused one start nothing until it resumes. Checking each
 * session against its own children covers the tree. Part of `checkTree`.
 */
import type { SessionEvent } from '@cairn/protocol'

type Log = readonly SessionEvent[]
type SessionPhase = 'active' | 'paused' | 'over'

/** `isChild`: the first end of a child ends its whole subtree; a root may end while its descendants work. */
export function checkCascades(
  id: string,
  log: Log,
  isChild: boolean,
  logs: ReadonlyMap<string, Log>,
): string[] {
  const found: string[] = []
  const open = new Set<string>()
  /** A mission may be paused while its session continues and answers messages. */
  const pauses = new Map<'session' | 'mission', { at: string; children: Set<string> }>()
  let hasEnded = false
  const logOf = (child: string): Log => logs.get(child) ?? []
  const endAll = (event: SessionEvent): void => {
    for (const child of open) found.push(`${child}: it is open after ${event.type} of ${id}, ${event.id}`)
  }
  const endPause = (of: 'session' | 'mission', until: string | null): void => {
    const { at, children } = pauses.get(of) ?? { at: '', children: [] }
    for (const child of children) found.push(...betweenOf(child, logOf(child), id, at, until))
    pauses.delete(of)
  }

  for (const event of log) {
    switch (event.type) {
      case 'worker.spawned':
        open.add(event.data.worker_id)
        // A child made while only the mission is paused works for the author of a message.
        pauses.get('session')?.children.add(event.data.worker_id)
        break
      case 'worker.complete':
      case 'worker.failed':
        open.delete(event.data.worker_id)
        // A later message to it concerns only that child and its user.
        for (const { at, children } of pauses.values())
          if (children.delete(event.data.worker_id)) {
            const child = event.data.worker_id
            found.push(...betweenOf(child, logOf(child), id, at, event.created_at))
          }
        break
      case 'session.pause':
      case 'mission.paused':
        for (const child of open)
          if (standingAt(logOf(child), event.created_at) === 'active' && !wasPausedAt(logOf(child), event))
            found.push(`${child}: it is running while ${id} is paused, since event ${event.id}`)
        pauses.set(event.type === 'session.pause' ? 'session' : 'mission', {
          at: event.created_at,
          children: new Set(open),
        })
        break
      case 'session.resume':
        endPause('session', event.created_at)
        break
      case 'mission.resumed':
      case 'mission.cancelled':
        endPause('mission', event.created_at)
        break
      case 'session.stopped':
        // Stopping a coordinator pauses its mission, and its workers with it. So does a cancel that is meant
        // to end them; without either, the workers continue.
        if (!log.some(each => each.created_at === event.created_at && sparesWorkers(each))) endAll(event)
        if (event.data.reason === 'archived')
          for (const child of spawnedIn(log)) found.push(...callsAfter(child, logOf(child), id, event))
        break
      case 'session.complete':
      case 'session.fail':
        endPause('session', event.created_at)
        if (isChild && !hasEnded) endAll(event)
        hasEnded = true
        break
      default:
    }
  }
  endPause('session', null)
  endPause('mission', null)
  return found
}

const sparesWorkers = (event: SessionEvent): boolean =>
  event.type === 'mission.paused' || (event.type === 'mission.cancelled' && !event.data.cascade_to_workers)

const spawnedIn = (log: Log): string[] =>
  log.flatMap(event => (event.type === 'worker.spawned' ? [event.data.worker_id] : []))

/** The status after the last event of that moment. */
function standingAt(log: Log, at: string): SessionPhase {
  let standing: SessionPhase = 'active'
  for (const { type, created_at } of log) {
    if (created_at > at) break
    if (type === 'session.pause') standing = 'paused'
    else if (type === 'session.resume') standing = 'active'
    else if (type === 'session.complete' || type === 'session.fail') standing = 'over'
  }
  return standing
}

/** True if it was paused at that moment, even if a later event of the same moment changed that. */
const wasPausedAt = (log: Log, { created_at }: SessionEvent): boolean =>
  log.some(event => event.type === 'session.pause' && event.created_at === created_at)

/** Events that a child which had not ended must not write between its parent's pause and resume. */
function betweenOf(child: string, log: Log, parent: string, at: string, until: string | null): string[] {
  // A child that has ended is no longer a worker: its user may continue it.
  if (standingAt(log, at) === 'over') return []
  return log.flatMap(({ id, type, created_at }) =>
    (type === 'tool.call' || type === 'session.resume') &&
    created_at > at &&
    (until === null || created_at < until)
      ? [`${child}: event ${id} (${type}) while ${parent} is paused`]
      : [],
  )
}

const callsAfter = (child: string, log: Log, parent: string, stop: SessionEvent): string[] =>
  log.flatMap(({ id, type, created_at }) =>
    type === 'tool.call' && created_at > stop.created_at
      ? [`${child}: event ${id} (${type}) after ${parent} was archived`]
      : [],
  )
