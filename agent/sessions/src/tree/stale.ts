/**
 * Reports a delegated child that has written nothing for a long time in its parent's log, once for each such
 * period. The report is for people and wakes no turn. A timer of the child checks while its link is open.
 */
import type { Commit, LogStore, RowChange, SessionRow, Timer } from '@cairn/log'
import { decodeEvent, type EventDraft, type EventId, factsOf } from '@cairn/protocol'
import { delegationStale } from '../events/coordination.ts'

/** Seconds without an event after which a child counts as stale: in general, and while a tool runs. */
export type StaleLimits = { idle_s: number; tool_s: number }
type Data = StaleLimits & { tool_call_id: string; child_id: string; told_id: number }

const idOf = (childId: string): string => `stale:${childId}`
export const dropStaleTimer = (childId: string): RowChange => ({ do: 'timer.drop', id: idOf(childId) })

const setTimer = (session_id: string, after_s: number, data: Data): RowChange => ({
  do: 'timer.set',
  id: idOf(data.child_id),
  kind: 'stale',
  session_id,
  after_ms: Math.max(1, Math.round(after_s * 1000)),
  data,
})
export const staleTimer = (
  parentId: string,
  child_id: string,
  tool_call_id: string,
  limits: StaleLimits,
): RowChange => setTimer(parentId, limits.idle_s, { ...limits, child_id, tool_call_id, told_id: 0 })

/** The commit on the parent for a due timer: a report if the child is stale, and the next check. */
export async function composeStale(
  store: LogStore,
  { id, claim, session_id, due_at, data }: Timer,
): Promise<Omit<Commit, 'session_id'>> {
  const fire: RowChange = { do: 'timer.fire', id, claim }
  const { child_id, tool_call_id, idle_s, tool_s, told_id } = data as Data
  const link = await store.links.get(child_id)
  const { version } = await store.links.tree(link?.root_id ?? session_id)
  const child = await store.sessions.get(child_id)
  if (link?.status !== 'open' || child === null) return { events: [], rows: [fire] }
  // The end of the child changes its tree, so no report can be committed after it.
  const guards: RowChange[] = [fire, { do: 'tree.expect', root_id: link.root_id, version }]
  const again = (after_s: number, notified = told_id): RowChange[] => [
    ...guards,
    setTimer(session_id, after_s, { child_id, tool_call_id, idle_s, tool_s, told_id: notified }),
  ]
  const { inTool, ended } = await findSilences(store, child, { idle_s, tool_s })
  const untold = ended.filter(silence => silence.after_id > told_id)
  const tell = (silence: Silence): EventDraft =>
    delegationStale({
      child_session_id: child_id,
      tool_call_id,
      idle_seconds: silence.idle_s,
      in_tool: silence.in_tool,
      threshold_seconds: silence.in_tool ? tool_s : idle_s,
    })
  const events = untold.map(tell)
  const notified = untold.at(-1)?.after_id ?? told_id
  if (await waitsForOthers(store, child)) return { events, rows: again(idle_s, notified) }
  const threshold = inTool ? tool_s : idle_s
  // Only the store's clock counts: the due time of the timer, and the time of the child's last event.
  const idle = (due_at - child.updated_at) / 1000
  if (idle < threshold) return { events, rows: again(threshold - idle, notified) }
  const after_id = child.last_event_id
  if (notified === after_id) return { events, rows: again(threshold, notified) }
  return {
    events: [...events, tell({ after_id, idle_s: idle, in_tool: inTool })],
    rows: again(threshold, after_id),
  }
}

/**
 * True if the child is silent for a reason: it is paused, waits for a person or its own children, or no
 * runner has capacity for it.
 */
async function waitsForOthers(store: LogStore, child: SessionRow): Promise<boolean> {
  if (child.status !== 'active' || child.waiting_on !== null) return true
  if (child.lease !== null) return false
  const isQueued = child.state === 'running'
  return isQueued || (await store.links.children(child.id, { open: true, limit: 1 })).length > 0
}

/** `after_id`: the last event before the silence. */
type Silence = { after_id: EventId; idle_s: number; in_tool: boolean }

/** At least the number of events between a call of a turn and its result. */
const NEWEST = 500

/**
 * Whether a tool of the child runs, and the silences between its newest events that were too long: a timer
 * fires some seconds late, and the child may have written again by then. Time before an event that no turn
 * writes was spent waiting for capacity, a person or a resume.
 */
async function findSilences(
  store: LogStore,
  { id, last_event_id }: SessionRow,
  { idle_s, tool_s }: StaleLimits,
): Promise<{ inTool: boolean; ended: Silence[] }> {
  const open = new Set<string>()
  const ended: Silence[] = []
  let before: { id: EventId; at: number } | null = null
  for (const { json } of await store.events.read(id, Math.max(0, last_event_id - NEWEST), NEWEST)) {
    const event = decodeEvent(json)
    const at = Date.parse(event.created_at)
    const in_tool = open.size > 0
    if (before !== null && factsOf(event.type).worker === true) {
      const silent_s = (at - before.at) / 1000
      if (silent_s >= (in_tool ? tool_s : idle_s))
        ended.push({ after_id: before.id, idle_s: silent_s, in_tool })
    }
    if (event.type === 'tool.call') open.add(event.data.tool_call_id)
    else if (event.type === 'tool.result') open.delete(event.data.tool_call_id)
    before = { id: event.id, at }
  }
  return { inTool: open.size > 0, ended }
}
