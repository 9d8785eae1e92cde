/** Open inbox items of a session. */
import type { Grant, SessionRow } from '@cairn/log'
import type { EventData, InboxItem, InboxKind } from '@cairn/protocol'
import { GOAL_BLOCKED } from '@cairn/state'
import type { Deps } from '../deps.ts'

/** The open item that covers this tool call with these arguments; null if there is none. */
export async function findOpenGate(
  store: Deps['store'],
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
  tool: string,
  arguments_hash: string,
): Promise<string | null> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.inbox.list({
      org_id,
      session_id: id,
      kind: ['governance_gate'],
      status: ['pending'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id: item, payload } of page.items) {
      const gate = payload as EventData<'inbox.governance_gate'>
      // Listings omit the hash.
      if (
        gate.tool_name === tool &&
        (await store.inbox.get(item))?.private['arguments_hash'] === arguments_hash
      )
        return gate.tool_call_id
    }
    cursor = page.next_cursor
  }
  return null
}

export type Approval = Grant & {
  /** The gated call that a person approved; absent for approvals of older releases. */
  approves_tool_call_id?: string
}

/** The approval of exactly this call; null if there is none. */
export async function findApproval(
  { grants, inbox }: Pick<Deps['store'], 'grants' | 'inbox'>,
  session_id: string,
  tool: string,
  arguments_hash: string,
): Promise<Approval | null> {
  const grant = await grants.find(session_id, tool, arguments_hash)
  const item = grant === null ? null : await inbox.get(grant.id)
  if (grant === null || item?.session_id !== session_id) return grant
  const { tool_call_id } = item.payload as EventData<'inbox.governance_gate'>
  return { ...grant, approves_tool_call_id: tool_call_id }
}

type Of = Pick<SessionRow, 'id' | 'org_id'>

const pending = async (store: Deps['store'], { id, org_id }: Of, kind: InboxKind): Promise<InboxItem[]> =>
  (await store.inbox.list({ org_id, session_id: id, kind: [kind], status: ['pending'], limit: 100 })).items

/** Unacknowledged check-ins of a session; the next one replaces them. */
export const openCheckIns = async (store: Deps['store'], session: Of): Promise<string[]> =>
  (await pending(store, session, 'progress_checkin')).map(item => item.id)

/** Items about blocked goals of a session; the next turn makes them obsolete. */
export const openBlockedGoals = async (store: Deps['store'], session: Of): Promise<string[]> =>
  (await pending(store, session, 'action_required'))
    .filter(({ payload }) => payload['action_type'] === GOAL_BLOCKED)
    .map(item => item.id)
