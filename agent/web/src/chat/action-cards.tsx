/** Requests of the agent for an action elsewhere (a login, a second factor), and skills that it proposes. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { BrowserLink } from '../browser/browser-link.tsx'
import { ProposalButtons, proposedSkill, SkillText } from '../decisions/proposal.tsx'
import { inboxQuery } from '../queries.ts'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { chatWords } from '../words/chat.ts'
import { generalWords } from '../words/general.ts'

export function ActionCards({ sessionId }: { sessionId: string }) {
  const { data: items = [] } = useQuery(inboxQuery('pending', sessionId))
  return (
    items
      // A blocked task has its own card.
      .filter(item => item.kind === 'action_required' && blockedTaskOf(item) === null)
      .map(item => <ActionCard key={item.id} item={item} />)
  )
}

function ActionCard({ item }: { item: InboxItem }) {
  const queries = useQueryClient()
  const complete = useMutation({
    mutationFn: () =>
      client.call('respondInbox', { params: { item_id: item.id }, body: { completed: true } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const skill = proposedSkill(item)
  return (
    <section
      className="card action"
      aria-label={skill === null ? chatWords.actionNeeded : chatWords.proposedSkill}
      data-testid="action-card"
    >
      <h2>{visibleText(item.title)}</h2>
      {item.body !== null && <p>{visibleText(item.body)}</p>}
      {skill !== null && <SkillText skill={skill} />}
      <div className="actions">
        <BrowserLink item={item} />
        {skill === null ? (
          <Button
            className="button primary"
            isDisabled={complete.isPending}
            onPress={() => complete.mutate()}
            data-testid="complete-action"
          >
            {generalWords.done}
          </Button>
        ) : (
          <ProposalButtons item={item} />
        )}
      </div>
    </section>
  )
}
