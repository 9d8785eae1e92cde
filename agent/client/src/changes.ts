/**
 * Live changes of the inbox and of sessions. Each connection starts with the whole inbox, or with a request
 * to read the session list.
 */
import type { InboxItem, RouteName, Session } from '@cairn/protocol'
import { pathOf } from './call.ts'
import type { EventsOptions } from './events.ts'
import { type Frame, resume } from './resume.ts'
import type { Source } from './source.ts'

export type InboxChange = { type: 'snapshot'; items: InboxItem[] } | { type: 'item'; item: InboxItem }
/** `opened`: read the list now. */
export type SessionChange = { type: 'opened' } | { type: 'session'; session: Session }
type ChangeStream<Change> = (
  options?: Omit<EventsOptions, 'after'>,
) => AsyncGenerator<Change[], void, undefined>
export type InboxStream = ChangeStream<InboxChange>
export type SessionStream = ChangeStream<SessionChange>

const changesOf =
  <Change>(route: RouteName, accept: (frame: Frame) => Change | null) =>
  ({ baseUrl, send, apiByDefault, tuning }: Source): ChangeStream<Change> =>
  (options = {}) =>
    resume({
      ...tuning,
      signal: options.signal ?? new AbortController().signal,
      onState: options.onState ?? (() => {}),
      open: async signal =>
        send(baseUrl + (await pathOf(route, { api: options.api ?? apiByDefault })), {
          headers: { accept: 'text/event-stream' },
          cache: 'no-store',
          signal,
        }),
      accept,
    })

// Frames with other names come from a newer server and are skipped.
export const inboxWith = changesOf<InboxChange>('streamInbox', ({ event, data }) => {
  if (event === 'snapshot') {
    const { items } = JSON.parse(data) as { items: InboxItem[] }
    return { type: 'snapshot', items }
  }
  return event === 'item' ? { type: 'item', item: JSON.parse(data) as InboxItem } : null
})

export const sessionChangesWith = changesOf<SessionChange>('streamSessions', ({ event, data }) => {
  if (event === 'opened') return { type: 'opened' }
  return event === 'session' ? { type: 'session', session: JSON.parse(data) as Session } : null
})
