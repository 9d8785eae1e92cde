/**
 * Skills that agents propose and people accept (docs/review.md). Accepted skills are read from their items,
 * so a backup of the store includes them.
 */
import type { LogStore, SessionRow } from '@cairn/log'
import type { EventData, InboxItem, SkillProposal } from '@cairn/protocol'

export const SKILL_PROPOSAL = 'skill_proposal'

export type DecidedProposal = SkillProposal & { decision: 'approve' | 'reject' | null }

/** The skill proposal of an item; null for any other item. */
export function proposalOf({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): SkillProposal | null {
  if (kind !== 'action_required') return null
  const { action_type, proposal } = payload as EventData<'inbox.action_required'>
  return action_type === SKILL_PROPOSAL && proposal !== undefined ? proposal : null
}

/** All proposals in sessions of that owner, newest first. */
export async function listProposals(
  store: LogStore,
  { org_id, created_by }: Pick<SessionRow, 'org_id' | 'created_by'>,
): Promise<DecidedProposal[]> {
  const found: DecidedProposal[] = []
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await store.inbox.list({
      org_id,
      created_by,
      kind: ['action_required'],
      limit: 100,
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const item of page.items) {
      const proposal = proposalOf(item)
      if (proposal !== null)
        found.push({
          ...proposal,
          decision: item.decision === 'approve' || item.decision === 'reject' ? item.decision : null,
        })
    }
    cursor = page.next_cursor
  }
  return found
}
