/**
 * Several approvals of one session and one family of tools, each call in full. Each is decided by its own
 * request with the hash of what is shown here; one that changed in between stays open.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { InboxItem } from '@cairn/protocol'
import { useEffect, useRef, useState } from 'react'
import { client } from '../api.ts'
import { Decide } from '../chat/decide.tsx'
import { gateForm } from '../decisions/gate-view.tsx'
import { say } from '../ui/toasts.tsx'
import { inboxWords } from '../words/inbox.ts'
import { ItemName, namesOf } from './item-words.tsx'
import { RaisedIn } from './item-pane.tsx'

type Props = { items: readonly InboxItem[]; onDecided: (ids: ReadonlySet<string>) => void }
type Decision = { decision: 'approve' | 'reject'; reason?: string }

export function BatchPane({ items, onDecided }: Props) {
  const queries = useQueryClient()
  const [hasSeenEnd, setSeenEnd] = useState(false)
  const decide = useMutation({
    mutationFn: async (choice: Decision) => {
      const results = await Promise.allSettled(
        items.map(({ id, payload }) =>
          client.call('respondInbox', {
            params: { item_id: id },
            body: { ...choice, shown_hash: String(payload['shown_hash']) },
          }),
        ),
      )
      return results.flatMap(({ status }, at) => (status === 'fulfilled' ? [items[at]!.id] : []))
    },
    onSuccess: decided => {
      if (decided.length < items.length) say(inboxWords.batchLeft(items.length - decided.length), 'error')
      onDecided(new Set(decided))
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['inbox'] }),
  })
  const [first] = items
  if (first === undefined) return null
  return (
    <section
      className="inbox-pane"
      aria-label={inboxWords.batchTitle(items.length)}
      data-testid="inbox-batch"
    >
      <div className="inbox-read" tabIndex={-1}>
        <header className="inbox-title">
          <h2>{inboxWords.batchTitle(items.length)}</h2>
          <span className="badge waiting">{inboxWords.kinds.governance_gate}</span>
        </header>
        <dl className="inbox-facts">
          <div>
            <dt>{inboxWords.session}</dt>
            <dd>
              <RaisedIn item={first} />
            </dd>
          </div>
        </dl>
        {items.map(item => (
          <article
            key={item.id}
            className="inbox-call"
            aria-label={namesOf(item).verb}
            data-testid="batch-call"
          >
            <h3>
              <ItemName item={item} />
            </h3>
            {gateForm(item.payload['tool_name'], argumentsOf(item))}
          </article>
        ))}
        <End onSeen={() => setSeenEnd(true)} />
      </div>
      <footer className="inbox-bar">
        <span className="muted">
          {hasSeenEnd ? inboxWords.exactly(items.length) : inboxWords.scrollToApprove}
        </span>
        <span className="inbox-buttons">
          <Decide
            approve={inboxWords.approveCalls(items.length)}
            reject={inboxWords.rejectCalls(items.length)}
            canApprove={hasSeenEnd && !decide.isPending}
            canReject={!decide.isPending}
            onApprove={() => decide.mutate({ decision: 'approve' })}
            onReject={reason =>
              decide.mutate({ decision: 'reject', ...(reason !== undefined && { reason }) })
            }
          />
        </span>
      </footer>
    </section>
  )
}

/** Items of a batch have their arguments (triage.ts). */
const argumentsOf = ({ payload }: InboxItem): Readonly<Record<string, unknown>> => {
  const args = payload['arguments']
  return typeof args === 'object' && args !== null ? { ...args } : {}
}

/** The end of the stack. Approving needs that it has been on screen. */
function End({ onSeen }: { onSeen: () => void }) {
  const end = useRef<HTMLDivElement>(null)
  const seen = useRef(onSeen)
  useEffect(() => {
    seen.current = onSeen
  })
  useEffect(() => {
    const watcher = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) seen.current()
    })
    if (end.current !== null) watcher.observe(end.current)
    return () => watcher.disconnect()
  }, [])
  return <div ref={end} className="inbox-end" aria-hidden="true" />
}
