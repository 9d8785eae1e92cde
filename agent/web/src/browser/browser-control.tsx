/** Who drives the browser, and the buttons that change it; when the agent asks for it, with what it asks. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import type { InboxItem } from '@cairn/protocol'
import { client, describeError } from '../api.ts'
import type { LiveView } from './use-live-view.ts'

/** What the agent asks a person to do, of this session. */
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

export function BrowserControl({
  sessionId,
  view,
  holderName,
}: {
  sessionId: string
  view: LiveView
  holderName: string | null
}) {
  const queries = useQueryClient()
  const asked = useAskedFor(sessionId)
  const change = useMutation({
    mutationFn: async ({ action, done }: { action: 'acquire' | 'release'; done?: InboxItem }) => {
      const inbox_item_id = action === 'acquire' ? asked?.id : undefined
      await client.call('controlBrowser', {
        params: { id: sessionId },
        body: { action, ...(inbox_item_id === undefined ? {} : { inbox_item_id }) },
      })
      if (done !== undefined)
        await client.call('respondInbox', { params: { item_id: done.id }, body: { completed: true } })
    },
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['inbox'] }),
        queries.invalidateQueries({ queryKey: ['browser', sessionId] }),
      ]),
  })
  const instructions = asked?.body ?? null
  return (
    <div
      className="browser-control"
      data-holder={view.yours ? 'you' : view.holder === null ? 'agent' : 'other'}
    >
      {asked !== null && (
        <p className="browser-asked" data-testid="browser-asked">
          <strong>{asked.title}</strong> {instructions}
        </p>
      )}
      <p className="browser-holder" role="status" data-testid="browser-holder">
        {view.yours
          ? 'You drive. What you type is not recorded; the agent waits.'
          : view.holder === null
            ? 'The agent drives; you watch.'
            : `${holderName ?? 'Another person'} drives; you watch.`}
      </p>
      {view.yours ? (
        <>
          <Button
            className="button"
            isDisabled={change.isPending}
            onPress={() => change.mutate({ action: 'release' })}
            data-testid="browser-return"
          >
            Return
          </Button>
          {asked !== null && (
            <Button
              className="button primary"
              isDisabled={change.isPending}
              onPress={() => change.mutate({ action: 'release', done: asked })}
              data-testid="browser-return-done"
            >
              Return and mark done
            </Button>
          )}
        </>
      ) : (
        <Button
          className="button primary"
          isDisabled={change.isPending || view.state !== 'live' || view.holder !== null}
          onPress={() => change.mutate({ action: 'acquire' })}
          data-testid="browser-take"
        >
          Take control
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
