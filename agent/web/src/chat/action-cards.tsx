/** Requests of the agent for an action elsewhere (a login, a second factor), and skills that it proposes. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { client } from '../api.ts'
import { BrowserLink } from '../browser/browser-link.tsx'
import { ActionRequest } from '../decisions/action-request.tsx'
import { ProposalButtons, proposedSkill, SkillText } from '../decisions/proposal.tsx'
import { inboxQuery } from '../queries.ts'
import { blockedTaskOf } from '../tasks/blocked-item.ts'
import { HandIcon } from '../ui/icons.tsx'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { chatWords } from '../words/chat.ts'

/** The requests that wait for a person. A blocked task has its own card. */
export function usePendingActions(sessionId: string, isWaiting: boolean): readonly InboxItem[] {
  const { data: items = [] } = useQuery({ ...inboxQuery('pending', sessionId), enabled: isWaiting })
  return isWaiting
    ? items.filter(item => item.kind === 'action_required' && blockedTaskOf(item) === null)
    : []
}

export function ActionCard({ item }: { item: InboxItem }) {
  const queries = useQueryClient()
  const now = useNow(20_000)
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
      <header className="card-head">
        <HandIcon />
        <h2>{visibleText(item.title)}</h2>
        <time dateTime={item.created_at}>{formatAgo(item.created_at, now)}</time>
      </header>
      <div className="card-body">
        {skill === null ? <ActionRequest item={item} /> : <SkillText skill={skill} />}
        <div className="actions">
          {skill === null ? (
            <>
              <BrowserLink item={item} />
              <Button
                className="button primary"
                isDisabled={complete.isPending}
                onPress={() => complete.mutate()}
                data-testid="complete-action"
              >
                {chatWords.actionDone}
              </Button>
            </>
          ) : (
            <ProposalButtons item={item} />
          )}
        </div>
      </div>
    </section>
  )
}
