/** Folded state of a session's capabilities, for commands that decide from it. */
import type { LogStore } from '@cairn/log'
import { decodeEvent, EVENT_TYPES, type EventId } from '@cairn/protocol'
import {
  capabilityChanges,
  type CapabilityStates,
  emptyCapabilities,
  FOLD_VERSION,
  type Folded,
  readSnapshot,
} from '@cairn/state'

const PAGE = 500
/** Folds ignore streaming events. */
const FOLDED = EVENT_TYPES.filter(type => type !== 'llm.delta' && type !== 'llm.heartbeat')

/** `seen` is for `expect_no_work_after`: the commit fails if work was requested after this read. */
export async function readFolded(
  store: LogStore,
  sessionId: string,
): Promise<{ states: CapabilityStates; seen: EventId }> {
  const snapshot = await store.snapshots.read(sessionId, FOLD_VERSION)
  const known = snapshot === null ? null : readSnapshot<Folded>(snapshot)
  let states: CapabilityStates = known ?? emptyCapabilities
  const seen = (await store.sessions.get(sessionId))?.last_event_id ?? 0
  for (let after = known?.last_id ?? 0; ;) {
    const events = await store.events.read(sessionId, after, PAGE, FOLDED)
    for (const { json } of events) states = { ...states, ...capabilityChanges(states, decodeEvent(json)) }
    const last = events.at(-1)
    if (!last || events.length < PAGE) return { states, seen }
    after = last.id
  }
}
