/**
 * Expires approvals of tools whose definition has changed at their server: what was to be approved no longer
 * exists.
 */
import { CommitRefused } from '@cairn/log'
import type { EventData } from '@cairn/protocol'
import type { Deps } from '../deps.ts'
import { sessionResumed } from '../events/lifecycle.ts'
import { syntheticMessage, TAKES_INPUT } from '../events/messages.ts'

const DECISION = 'definition_changed'

/**
 * Expires each pending approval of one of these tools if its definition differs from the given one, and
 * records that in the log of its session. `definitions` maps tool names to hashes. Returns the number of
 * expired approvals.
 */
export async function expireChangedGates(
  { store }: Pick<Deps, 'store'>,
  definitions: ReadonlyMap<string, string>,
): Promise<number> {
  let expired = 0
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.inbox.listPendingGates(cursor)
    for (const { id, session_id, payload } of page.items) {
      const { tool_name, tool_call_id, definition_hash } = payload as EventData<'inbox.governance_gate'>
      const current = definitions.get(tool_name)
      if (current === undefined || current === definition_hash) continue
      try {
        await store.commit({
          session_id,
          expect_status: TAKES_INPUT,
          reopen: sessionResumed('inbox'),
          events: [
            syntheticMessage(
              'governance_decision',
              `[Decision] The approval request for the call of ${tool_name} (${tool_call_id}) ` +
                'has expired, because the MCP server changed the definition of the tool before a ' +
                'user decided. Do not repeat the call on your own: tell the user what you wanted ' +
                'to do, and continue without it.',
              { inbox_item_id: id, tool_call_id, metadata: { decision: 'expired', reason: DECISION } },
            ),
          ],
          rows: [{ do: 'inbox.answer', id, decision: DECISION, status: 'expired' }],
        })
        expired += 1
      } catch (error) {
        // Decided concurrently, or the session has been archived and its items have ended with it.
        if (!(error instanceof CommitRefused)) throw error
      }
    }
    cursor = page.next_cursor
  }
  return expired
}
