/** The list of the inbox: rows, grouped by session where they need an answer. */
import { type InboxItem, visibleText } from '@cairn/protocol'
import { useEffect, useRef } from 'react'
import { Button } from 'react-aria-components'
import { formatAgo, useNow } from '../ui/use-now.ts'
import { inboxWords } from '../words/inbox.ts'
import { aboutItem, ItemName, nameOf, namesOf } from './item-words.tsx'
import { batchKey, type InboxGroup } from './triage.ts'

type Props = {
  groups: readonly InboxGroup[]
  openId: string | undefined
  selected: ReadonlySet<string>
  onOpen: (item: InboxItem) => void
  onToggle: (item: InboxItem) => void
  onSelect: (ids: readonly string[]) => void
}

export function InboxList({ groups, ...rest }: Props) {
  return (
    <div className="inbox-groups" data-testid="inbox-list">
      {groups.map(group => (
        <Group key={group.sessionId ?? ''} group={group} {...rest} />
      ))}
    </div>
  )
}

function Group({ group, onSelect, ...rest }: Omit<Props, 'groups'> & { group: InboxGroup }) {
  const [first] = group.items
  const batch = largestBatch(group.items)
  return (
    <section>
      {group.sessionId !== null && first !== undefined && (
        <header className="inbox-group-head">
          <h2 title={visibleText(first.session_title ?? '')}>
            {first.session_title === null ? inboxWords.untitled : visibleText(first.session_title)}
          </h2>
          <span className="muted">{visibleText(first.agent)}</span>
          {batch.length > 1 && (
            <Button className="json-link" onPress={() => onSelect(batch)} data-testid="select-batch">
              {inboxWords.selectCalls(batch.length)}
            </Button>
          )}
        </header>
      )}
      <ul className="inbox-rows">
        {group.items.map(item => (
          <Row
            key={item.id}
            item={item}
            isBatch={batch.length > 1 && batch.includes(item.id)}
            isGrouped={group.sessionId !== null}
            {...rest}
          />
        ))}
      </ul>
    </section>
  )
}

/** The approvals of a session that may be decided together; of several families, the one with most calls. */
function largestBatch(items: readonly InboxItem[]): string[] {
  const families = Map.groupBy(
    items.filter(item => batchKey(item) !== null),
    batchKey,
  )
  const [largest = []] = [...families.values()].toSorted((a, b) => b.length - a.length)
  return largest.map(({ id }) => id)
}

type RowProps = Omit<Props, 'groups' | 'onSelect'> & { item: InboxItem; isBatch: boolean; isGrouped: boolean }

function Row({ item, isBatch, isGrouped, openId, selected, onOpen, onToggle }: RowProps) {
  const now = useNow(20_000)
  const isOpen = openId === item.id
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (isOpen) row.current?.scrollIntoView({ block: 'nearest' })
  }, [isOpen])
  const { icon, kind } = namesOf(item)
  const fact = factOf(item, isGrouped)
  return (
    <li
      ref={row}
      className="inbox-row"
      data-testid="inbox-row"
      data-kind={item.kind}
      data-status={item.status}
      data-open={isOpen || undefined}
      data-selected={selected.has(item.id) || undefined}
      data-unread={(item.read_at === null && item.status === 'pending') || undefined}
    >
      <span className="inbox-check">
        {isBatch && (
          <input
            type="checkbox"
            checked={selected.has(item.id)}
            onChange={() => onToggle(item)}
            aria-label={inboxWords.select(nameOf(item))}
            data-testid="inbox-select"
          />
        )}
      </span>
      <button
        type="button"
        className="inbox-open"
        aria-current={isOpen || undefined}
        onClick={() => onOpen(item)}
      >
        <span className="inbox-icon">{icon}</span>
        <span className="inbox-what">
          <span className="inbox-name">
            <ItemName item={item} />
          </span>
          <span className="inbox-fact">{fact === '' ? kind : `${kind} · ${fact}`}</span>
        </span>
        <time className="faint numeric" dateTime={item.created_at}>
          {formatAgo(item.created_at, now)}
        </time>
      </button>
    </li>
  )
}

/** One fact after the kind: the outcome of a decided item, else what it is about. */
function factOf(item: InboxItem, isGrouped: boolean): string {
  const outcomes: Readonly<Record<string, string>> = inboxWords.outcomes
  const { status, decision, session_title: title, agent } = item
  if (status !== 'pending') return outcomes[decision ?? status] ?? decision ?? status
  return visibleText(isGrouped ? aboutItem(item) : (title ?? agent))
}
