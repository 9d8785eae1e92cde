/** Completes the open actions that a person has done elsewhere, such as a login at an MCP server. */
import { AppError, type EventData, type Principal } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { respondInbox } from './inbox-items.ts'

type Done = { action_type: string; target: string }

/** Only those of the person's own sessions. */
export async function completeActions(
  deps: Deps,
  principal: Extract<Principal, { kind: 'user' }>,
  { action_type, target }: Done,
): Promise<void> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await deps.store.inbox.list({
      org_id: principal.org_id,
      created_by: principal.id,
      kind: ['action_required'],
      status: ['pending'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id, payload } of page.items) {
      const asked = payload as EventData<'inbox.action_required'>
      if (asked.action_type === action_type && asked.target === target) ids.push(id)
    }
    cursor = page.next_cursor
  }
  for (const id of ids)
    try {
      await respondInbox(deps, id, { completed: true }, principal)
    } catch (error) {
      // The person, or a stop of the session, was faster.
      if (!(error instanceof AppError) || error.code !== 'already_answered') throw error
    }
}
