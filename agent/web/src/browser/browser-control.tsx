/** Shows who controls the browser, with the buttons that change it, and the agent's request for control. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { type InboxItem, visibleText } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import type { LiveView } from './use-live-view.ts'
import { browserWords } from '../words/browser.ts'

/** The pending request of the session that a person does something. */
function useAskedFor(sessionId: string): InboxItem | null {
  const { data } = useQuery({
    queryKey: ['inbox', 'browser', sessionId],
    queryFn: () =>
      client.call('listInbox', {
        query: { session_id: sessionId, kind: 'action_required', status: 'pending' },
      }),
    refetchInterval: 5_000,
  })
  return data?.items[0] ?? null
}

type Change = { action: 'acquire' | 'release'; done?: InboxItem }

function useChange(sessionId: string, asked: InboxItem | null) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ action, done }: Change) => {
      const forItem = action === 'acquire' && asked !== null ? { inbox_item_id: asked.id } : {}
      await client.call('controlBrowser', { params: { id: sessionId }, body: { action, ...forItem } })
      if (done !== undefined)
        await client.call('respondInbox', { params: { item_id: done.id }, body: { completed: true } })
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['inbox'] }),
        queries.invalidateQueries({ queryKey: ['browser', sessionId] }),
      ]),
  })
}

type Props = { sessionId: string; view: LiveView; holderName: string | null }

function driver({ yours, holder }: LiveView, holderName: string | null): string {
  if (yours) return browserWords.yours
  return holder === null ? browserWords.agents : browserWords.others(holderName ?? browserWords.anotherUser)
}

export function BrowserControl({ sessionId, view, holderName }: Props) {
  const asked = useAskedFor(sessionId)
  const change = useChange(sessionId, asked)
  return (
    <div className="browser-control">
      {asked !== null && (
        <p className="browser-asked" data-testid="browser-asked">
          <strong>{visibleText(asked.title)}</strong> {asked.body === null ? '' : visibleText(asked.body)}
        </p>
      )}
      <p className="browser-holder" role="status" data-testid="browser-holder">
        {driver(view, holderName)}
      </p>
      {view.yours && (
        <Button
          className="button"
          isDisabled={change.isPending}
          onPress={() => change.mutate({ action: 'release' })}
          data-testid="browser-return"
        >
          {browserWords.handBack}
        </Button>
      )}
      {view.yours && asked !== null && (
        <Button
          className="button primary"
          isDisabled={change.isPending}
          onPress={() => change.mutate({ action: 'release', done: asked })}
          data-testid="browser-return-done"
        >
          {browserWords.handBackDone}
        </Button>
      )}
      {!view.yours && (
        <Button
          className="button primary"
          isDisabled={change.isPending || view.state !== 'live' || view.holder !== null}
          onPress={() => change.mutate({ action: 'acquire' })}
          data-testid="browser-take"
        >
          {browserWords.take}
        </Button>
      )}
      {change.error !== null && (
        <p className="browser-problem" role="alert">
          {describeError(change.error)}
        </p>
      )}
    </div>
  )
}
