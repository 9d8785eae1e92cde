/** A session opened by a share link: read-only, and without a login. */
import { useQuery, useQueryClient, type QueryClient, queryOptions } from '@tanstack/react-query'
import { useEffect } from 'react'
import { visibleText, type AnswerOf, type SessionEvent } from '@cairn/protocol'
import { describeError, client } from '../api.ts'
import { rowsOf } from '../chat/rows.ts'
import { ToolGroup } from '../chat/tool-group.tsx'
import { CairnMark } from '../ui/icons.tsx'
import { ThemeToggle } from '../ui/theme.tsx'
import { SharedItem } from './shared-item.tsx'
import '../shell/app-shell.css'
import '../chat/chat.css'
import './shared.css'
import { generalWords } from '../words/general.ts'
import { shareWords } from '../words/share.ts'
import { emptySessionView, foldSessionView, type SessionView } from '@cairn/state'

const NOTHING_ASKED: ReadonlySet<string> = new Set()

export function SharedPage() {
  // The token is in the fragment, so the browser does not send it when it loads the page.
  const token = window.location.hash.slice(1)
  const { data, error } = useQuery(sharedQuery(useQueryClient(), token))
  const title = visibleText(data?.session.title ?? generalWords.untitledSession)
  useEffect(() => {
    document.title = data === undefined ? generalWords.product : generalWords.pageTitle(title)
  }, [data, title])
  return (
    <div className="shared">
      <header className="page-head">
        <span className="brand">
          <CairnMark />
          {generalWords.product}
        </span>
        <h1 className="truncate" data-testid="shared-title">
          {data === undefined ? shareWords.sharedSession : title}
        </h1>
        <span className="badge">{shareWords.readOnly}</span>
        <ThemeToggle />
      </header>
      <main className="shared-scroll">
        {error !== null && (
          <p className="inline-error" role="alert" data-testid="shared-gone">
            {describeError(error)}
          </p>
        )}
        {data !== undefined && error === null && (
          <div className="chat-content" role="log" aria-label={shareWords.conversation}>
            <p className="muted">{shareWords.with(visibleText(data.session.agent))}</p>
            {rowsOf(data.view.items, 0, NOTHING_ASKED).map(row =>
              row.kind === 'calls' ? (
                <ToolGroup key={row.key} group={row.group} calls={row.calls} />
              ) : (
                <SharedItem key={row.key} item={row.item} />
              ),
            )}
          </div>
        )}
      </main>
    </div>
  )
}

const EVERY_MS = 4000

type Shared = { session: AnswerOf<'readShared'>['session']; view: SessionView; last_id: number }

/** Polls the shared session while the page is open; each request reads only events after the last one. */
const sharedQuery = (queries: QueryClient, token: string) => {
  const queryKey = ['shared', token] as const
  return queryOptions({
    queryKey,
    queryFn: async ({ signal }): Promise<Shared> => {
      const known = queries.getQueryData<Shared>(queryKey)
      let { view, last_id } = known ?? { view: emptySessionView, last_id: 0 }
      for (;;) {
        const page = await client.call('readShared', { body: { token, after: last_id }, signal })
        // The server omits some event types and keys; the rest is unchanged.
        view = foldSessionView(view, page.events as SessionEvent[])
        last_id = page.last_id
        if (!page.has_more) return { session: page.session, view, last_id }
      }
    },
    refetchInterval: ({ state }) => (state.error === null ? EVERY_MS : false),
    // The view is large, and a changed view is a new object.
    structuralSharing: false,
  })
}
