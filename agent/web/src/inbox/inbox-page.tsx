/** All inbox items of the person, across sessions. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ToggleButton, ToggleButtonGroup } from 'react-aria-components'
import { describeError } from '../api.ts'
import { type InboxScope, inboxQuery, needsAnswer } from '../queries.ts'
import { InboxIcon } from '../ui/icons.tsx'
import { BackIcon } from '../ui/page-icons.tsx'
import { useNow } from '../ui/use-now.ts'
import { InboxEntry } from './inbox-entry.tsx'
import './inbox.css'
import { generalWords } from '../words/general.ts'
import { inboxWords } from '../words/inbox.ts'

export function InboxPage() {
  const [scope, setScope] = useState<InboxScope>('pending')
  const { data: items, error } = useQuery(inboxQuery(scope))
  const now = useNow(20_000)
  const sorted = (items ?? []).toSorted((a, b) => Number(needsAnswer(b)) - Number(needsAnswer(a)))
  return (
    <div className="inbox">
      <header className="page-head">
        <Link to="/sessions" className="button quiet square back" aria-label={generalWords.backToSessions}>
          <BackIcon />
        </Link>
        <h1>{inboxWords.inbox}</h1>
        <ToggleButtonGroup
          className="segments"
          aria-label={inboxWords.scope}
          selectionMode="single"
          disallowEmptySelection
          selectedKeys={[scope]}
          onSelectionChange={([key]) => setScope(key === 'all' ? 'all' : 'pending')}
        >
          <ToggleButton className="segment" id="pending">
            {inboxWords.pending}
          </ToggleButton>
          <ToggleButton className="segment" id="all" data-testid="inbox-all">
            {inboxWords.all}
          </ToggleButton>
        </ToggleButtonGroup>
      </header>
      <div className="inbox-scroll">
        {error && (
          <p className="inline-error" role="alert">
            {describeError(error)}
          </p>
        )}
        <ul className="inbox-list" data-testid="inbox-list">
          {sorted.map(item => (
            <InboxEntry key={item.id} item={item} now={now} />
          ))}
        </ul>
        {items?.length === 0 && (
          <div className="empty">
            <InboxIcon />
            <h2>{scope === 'pending' ? inboxWords.nothingPending : inboxWords.nothing}</h2>
            <p>{inboxWords.about}</p>
          </div>
        )}
      </div>
    </div>
  )
}
