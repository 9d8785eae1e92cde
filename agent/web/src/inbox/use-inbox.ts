/**
 * The state of the inbox: the view of the address, the items it lists, and which are open and selected.
 */
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type RefObject, useState } from 'react'
import type { InboxItem } from '@cairn/protocol'
import { client } from '../api.ts'
import { inboxQuery } from '../queries.ts'
import { useMediaQuery } from '../ui/use-media-query.ts'
import {
  afterDecision,
  groupBySession,
  type InboxGroup,
  type InboxTab,
  type InboxView,
  isWanted,
  neighbour,
  readInboxView,
  tabOf,
  toggled,
} from './triage.ts'
import { useInboxKeys } from './use-inbox-keys.ts'
import { useReading, useSetAside } from './use-set-aside.ts'

export const NONE: ReadonlySet<string> = new Set()

export type Inbox = ReturnType<typeof useInbox>

export function useInbox() {
  const view = readInboxView(useSearch({ strict: false }))
  const navigate = useNavigate()
  const go = (next: Partial<InboxView>, replace = true) =>
    void navigate({ to: '/inbox', search: addressOf({ ...view, ...next }), replace })
  const { data: pending, error } = useQuery(inboxQuery('pending'))
  const { data: decided } = useQuery({ ...inboxQuery('decided'), enabled: view.tab === 'decided' })
  const open = pending === undefined ? undefined : Map.groupBy(pending, tabOf)
  const loaded = view.tab === 'decided' ? decided : open && (open.get(view.tab) ?? [])
  const items = (loaded ?? []).filter(item => isWanted(item, view))
  const groups: InboxGroup[] = view.tab === 'needs' ? groupBySession(items) : [{ sessionId: null, items }]
  const ordered = groups.flatMap(group => group.items)
  const isPhone = useMediaQuery('(max-width: 760px)')
  const shown = useOpenItem(view.item, ordered, isPhone)
  useReading(shown)
  const [selected, select] = useState(NONE)
  const chosen = ordered.filter(({ id }) => selected.has(id))

  const openItem = (item: InboxItem | undefined) => {
    if (item !== undefined) go({ item: item.id }, !isPhone || view.item !== undefined)
  }
  const close = () => void navigate({ to: '/inbox', search: addressOf({ ...view, item: undefined }) })
  const onDecided = (gone: ReadonlySet<string>) => {
    select(NONE)
    const item = (isPhone ? undefined : afterDecision(ordered, gone))?.id
    // The person may have opened another tab while the decision was sent.
    const after = (search: Record<string, unknown>) => {
      const now = readInboxView(search)
      return addressOf(now.tab === view.tab ? { ...now, item } : now)
    }
    void navigate({ to: '/inbox', search: after, replace: true })
  }
  const setAside = useSetAside(onDecided)
  const countOf = (tab: InboxTab): number => open?.get(tab)?.length ?? 0
  return {
    view,
    go,
    error,
    counts: { needs: countOf('needs'), news: countOf('news'), snoozed: countOf('snoozed'), decided: 0 },
    loaded,
    groups,
    /** All listed items in the order of the list. */
    ordered,
    isPhone,
    open: shown,
    openItem,
    close,
    selected,
    select,
    chosen,
    onDecided,
    setAside,
  }
}

/** The keys of the page act on the open item and its pane. */
export function useKeysOf(inbox: Inbox, pane: RefObject<HTMLElement | null>): void {
  const { view, ordered, open, openItem, select, chosen, isPhone, close, setAside } = inbox
  const navigate = useNavigate()
  useInboxKeys({
    move(step, isExtending) {
      const next = neighbour(ordered, open?.id, open === undefined ? 0 : step)
      if (next === undefined) return
      if (isExtending)
        select(before => {
          const start = open === undefined || before.has(open.id) ? before : toggled(ordered, before, open.id)
          return start.has(next.id) ? start : toggled(ordered, start, next.id)
        })
      openItem(next)
    },
    toggle: () => open !== undefined && select(before => toggled(ordered, before, open.id)),
    finish: () => press(pane.current, '[data-testid="acknowledge"], [data-testid="complete-action"]'),
    acknowledgeAll: () => view.tab === 'news' && ordered.length > 0 && setAside.acknowledge.mutate(ordered),
    snooze: () => press(pane.current, '[data-testid="snooze"]'),
    markUnread: () => press(pane.current, '[data-testid="mark-unread"]'),
    openSession: () =>
      open !== undefined &&
      void navigate({ to: '/sessions/$sessionId', params: { sessionId: open.session_id } }),
    enter: () =>
      pane.current?.querySelector<HTMLElement>('.inbox-read :is(input, textarea), .inbox-read')?.focus(),
    choose: number => press(pane.current, `.choices > :nth-child(${number} of .choice)`),
    leave: () => (chosen.length > 0 ? select(NONE) : isPhone && close()),
  })
}

/** The address of a view, without what it has by default. */
const addressOf = ({ tab, kind, from, item }: InboxView) => ({
  ...(tab !== 'needs' && { tab }),
  ...(kind !== undefined && { kind }),
  ...(from !== undefined && { from }),
  ...(item !== undefined && { item }),
})

/** The item of the address, also one of another tab; else the first, except on a phone. */
function useOpenItem(
  id: string | undefined,
  items: readonly InboxItem[],
  isPhone: boolean,
): InboxItem | undefined {
  const listed = items.find(item => item.id === id)
  const { data: other } = useQuery({
    queryKey: ['inbox', 'item', id],
    queryFn: ({ signal }) => client.call('getInboxItem', { params: { item_id: id ?? '' }, signal }),
    enabled: id !== undefined && listed === undefined,
    retry: false,
  })
  if (id !== undefined) return listed ?? (other?.id === id ? other : undefined)
  return isPhone ? undefined : items[0]
}

/** Presses a button or a choice as a click does. */
function press(within: HTMLElement | null, selector: string): void {
  within?.querySelector<HTMLElement>(selector)?.click()
}
