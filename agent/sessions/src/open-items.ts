/** Items of a session that wait for somebody. */
import type { RowChange, SessionRow } from '@cairn/log'
import type { EventData, InboxItem, InboxKind } from '@cairn/protocol'
import { OUTLIVE_STOP } from '@cairn/protocol/words'
import { GOAL_BLOCKED } from '@cairn/state'
import type { Deps } from './deps.ts'

/**
 * The questions and actions of a turn that is stopped: an answer to one must not continue that turn, and what
 * is said next is a message. Approvals stay open; each is a decision about one call, whenever it is made.
 */
export const expireWaiting: RowChange = { do: 'inbox.expire_waiting', decision: 'stopped' }

/** The call whose undecided item covers a call of that tool with those arguments, or null. */
export async function findOpenGate(
  store: Deps['store'],
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
  tool: string,
  arguments_hash: string,
): Promise<string | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listInbox({
      org_id,
      session_id: id,
      kind: ['governance_gate'],
      status: ['pending'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id: item, payload } of page.items) {
      const gate = payload as EventData<'inbox.governance_gate'>
      // The hash is kept out of what is listed.
      if (
        gate.tool_name === tool &&
        (await store.getInboxItem(item))?.private['arguments_hash'] === arguments_hash
      )
        return gate.tool_call_id
    }
    cursor = page.next_cursor
  }
  return null
}

type Of = Pick<SessionRow, 'id' | 'org_id'>

const pending = async (store: Deps['store'], { id, org_id }: Of, kind: InboxKind): Promise<InboxItem[]> =>
  (await store.listInbox({ org_id, session_id: id, kind: [kind], status: ['pending'], limit: 100 })).items

/** Check-ins of a session that nobody has acknowledged; the next one makes them old news. */
export const openCheckIns = async (store: Deps['store'], session: Of): Promise<string[]> =>
  (await pending(store, session, 'progress_checkin')).map(item => item.id)

/** What blocked goals of a session wait for; the next turn makes it old news. */
export const openBlockedGoals = async (store: Deps['store'], session: Of): Promise<string[]> =>
  (await pending(store, session, 'action_required'))
    .filter(({ payload }) => payload['action_type'] === GOAL_BLOCKED)
    .map(item => item.id)

/** Whether an action waits that a stop expires. */
export const hasActionToStop = async (store: Deps['store'], session: Of): Promise<boolean> =>
  (await pending(store, session, 'action_required')).some(
    ({ payload }) => payload['proposal'] === undefined && !OUTLIVES.includes(payload['action_type']),
  )
const OUTLIVES: readonly unknown[] = OUTLIVE_STOP
