/** Items of a session that wait for somebody. */
import type { SessionRow } from '@cairn/log'
import type { EventData } from '@cairn/protocol'
import type { Deps } from './deps.ts'

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

/** Check-ins of a session that nobody has acknowledged; the next one makes them old news. */
export async function openCheckIns(
  store: Deps['store'],
  { id, org_id }: Pick<SessionRow, 'id' | 'org_id'>,
): Promise<string[]> {
  const { items } = await store.listInbox({
    org_id,
    session_id: id,
    kind: ['progress_checkin'],
    status: ['pending'],
    limit: 100,
  })
  return items.map(item => item.id)
}
