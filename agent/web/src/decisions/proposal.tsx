/** A skill that an agent proposes: its full text, and the decision. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import type { InboxItem, SkillProposal } from '@cairn/protocol'
import { client } from '../api.ts'
import { ExactText } from '../ui/exact-text.tsx'
import { generalWords } from '../words/general.ts'
import { chatWords } from '../words/chat.ts'

/** The skill that the item proposes; null for every other item. */
export function proposedSkill({ kind, payload }: Pick<InboxItem, 'kind' | 'payload'>): SkillProposal | null {
  const { action_type: type, proposal } = payload as { action_type?: unknown; proposal?: SkillProposal }
  return kind === 'action_required' && type === 'skill_proposal' && proposal !== undefined ? proposal : null
}

export function SkillText({ skill }: { skill: SkillProposal }) {
  return (
    <pre className="excerpt" data-testid="proposed-skill">
      <ExactText text={skill.body} />
    </pre>
  )
}

type ButtonsProps = { item: InboxItem; onDecided?: () => void }

export function ProposalButtons({ item, onDecided }: ButtonsProps) {
  const queries = useQueryClient()
  const decide = useMutation({
    mutationFn: (decision: 'approve' | 'reject') =>
      client.call('respondInbox', { params: { item_id: item.id }, body: { decision } }),
    ...(onDecided !== undefined && { onSuccess: onDecided }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  return (
    <>
      <Button
        className="button danger"
        isDisabled={decide.isPending}
        onPress={() => decide.mutate('reject')}
        data-testid="reject"
      >
        {generalWords.reject}
      </Button>
      <Button
        className="button primary"
        isDisabled={decide.isPending}
        onPress={() => decide.mutate('approve')}
        data-testid="approve"
      >
        {chatWords.acceptSkill}
      </Button>
    </>
  )
}
