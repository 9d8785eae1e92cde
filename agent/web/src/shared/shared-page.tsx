/** A session opened by a share link: read-only, and without a login. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { visibleText } from '@cairn/protocol'
import { describeError } from '../api.ts'
import { itemKey } from '../chat/chat-item.ts'
import { CairnMark } from '../ui/icons.tsx'
import { ThemeToggle } from '../ui/theme.tsx'
import { SharedItem } from './shared-item.tsx'
import { sharedQuery } from './shared-query.ts'
import '../shell/app-shell.css'
import '../chat/chat.css'
import './shared.css'
import { generalWords } from '../words/general.ts'
import { shareWords } from '../words/share.ts'

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
            {data.view.items.map((item, at) => (
              <SharedItem key={itemKey(item, at)} item={item} />
            ))}
          </div>
        )}
      </main>
    </div>
  )
}
