/**
 * What a person sets aside without a decision: acknowledged news, snoozed and unread items. The server keeps
 * it for them. Acknowledging and snoozing can be undone for some seconds.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import type { InboxItem } from '@cairn/protocol'
import { client } from '../api.ts'
import { say, sayError } from '../ui/toasts.tsx'
import { inboxWords } from '../words/inbox.ts'

type Undo = () => Promise<unknown>
type Offer = { undo: Undo; takeAway: () => void }
/** The last undo that a message on the screen offers. */
let offered: Offer | null = null

const OFFERED_MS = 5000

function take(offer: Offer): void {
  if (offered === offer) offered = null
  offer.takeAway()
  offer.undo().catch(sayError)
}

/** Does what the button of the last message would do, if one offers it. */
export function undoLast(): void {
  if (offered !== null) take(offered)
}

function offer(text: string, undo: Undo): void {
  const mine: Offer = {
    undo,
    takeAway: say(text, 'info', { label: inboxWords.undo, run: () => take(mine) }),
  }
  offered = mine
  setTimeout(() => {
    if (offered === mine) offered = null
  }, OFFERED_MS)
}

const of = ({ id }: Pick<InboxItem, 'id'>) => ({ params: { item_id: id } })

export function useSetAside(onGone: (ids: ReadonlySet<string>) => void) {
  const queries = useQueryClient()
  const refresh = () => queries.invalidateQueries({ queryKey: ['inbox'] })
  const undoing =
    <T>(call: () => Promise<T>): Undo =>
    () =>
      call().finally(() => void refresh())
  const acknowledge = useMutation({
    mutationFn: async (items: readonly InboxItem[]) => {
      for (const item of items) await client.call('ackInboxItem', of(item))
    },
    onSuccess: (_, items) => {
      onGone(new Set(items.map(({ id }) => id)))
      offer(
        inboxWords.acknowledged(items.length),
        undoing(() => Promise.all(items.map(item => client.call('unackInboxItem', of(item))))),
      )
    },
    onSettled: refresh,
  })
  const snooze = useMutation({
    mutationFn: ({ item, until }: { item: InboxItem; until: Date | null }) =>
      until === null
        ? client.call('unsnoozeInboxItem', of(item))
        : client.call('snoozeInboxItem', { ...of(item), body: { until: until.toISOString() } }),
    onSuccess: (_, { item, until }) => {
      onGone(new Set([item.id]))
      if (until === null) say(inboxWords.snoozeEnded)
      else
        offer(
          inboxWords.snoozed,
          undoing(() => client.call('unsnoozeInboxItem', of(item))),
        )
    },
    onSettled: refresh,
  })
  const markUnread = useMutation({
    mutationFn: (item: InboxItem) => client.call('unreadInboxItem', of(item)),
    onSettled: refresh,
  })
  return { acknowledge, snooze, markUnread }
}
export type SetAside = ReturnType<typeof useSetAside>

/** Marks an item as read when it is opened. One that the person then marks as unread stays unread. */
export function useReading(item: InboxItem | undefined): void {
  const queries = useQueryClient()
  const opened = useRef<string | undefined>(undefined)
  const id = item?.id
  const isUnread = item?.status === 'pending' && item.read_at === null
  useEffect(() => {
    if (id === opened.current) return
    opened.current = id
    if (id === undefined || !isUnread) return
    void client
      .call('readInboxItem', { params: { item_id: id } })
      .then(() => queries.invalidateQueries({ queryKey: ['inbox'] }))
      .catch(sayError)
  }, [id, isUnread, queries])
}
