/** Approvals of tools that their servers have defined anew since: nobody can decide on them any more. */
import { CommitRefused } from '@cairn/log'
import type { EventData } from '@cairn/protocol'
import type { Deps } from './deps.ts'
import { resumed } from './lifecycle-events.ts'
import { syntheticMessage, TAKES_INPUT } from './message-events.ts'

const DECISION = 'definition_changed'

/**
 * Expires each pending approval of one of these tools whose definition is another than the given one, and
 * writes so into the log of its session. `definitions`: hash by name of the tool. Returns how many expired.
 */
export async function expireChangedGates(
  { store }: Pick<Deps, 'store'>,
  definitions: ReadonlyMap<string, string>,
): Promise<number> {
  let expired = 0
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.listPendingGates(cursor)
    for (const { id, session_id, payload } of page.items) {
      const { tool_name, tool_call_id, definition_hash } = payload as EventData<'inbox.governance_gate'>
      const current = definitions.get(tool_name)
      if (current === undefined || current === definition_hash) continue
      try {
        await store.commit({
          session_id,
          expect_status: TAKES_INPUT,
          reopen: resumed('inbox'),
          events: [
            syntheticMessage(
              'governance_decision',
              `[Decision] Nobody decided on the call of ${tool_name} (${tool_call_id}) before its server ` +
                'changed the definition of the tool, so the approval request has expired. Do not repeat ' +
                'the call by yourself: tell the user what you meant to do, and go on without it.',
              { inbox_item_id: id, tool_call_id, metadata: { decision: 'expired', reason: DECISION } },
            ),
          ],
          rows: [{ do: 'inbox.answer', id, decision: DECISION, status: 'expired' }],
        })
        expired += 1
      } catch (error) {
        // A person decided in this moment, or the session takes nothing any more: its items end with it.
        if (!(error instanceof CommitRefused)) throw error
      }
    }
    cursor = page.next_cursor
  }
  return expired
}
