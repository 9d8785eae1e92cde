/** Live changes of the inbox: the whole list first and after every reconnection, then item by item. */
import type { InboxItem } from '@cairn/protocol'
import { pathOf } from './call.ts'
import type { Send } from './credentials.ts'
import type { EventsOptions, StreamTuning } from './events.ts'
import { type Frame, resume } from './resume.ts'

export type InboxChange = { type: 'snapshot'; items: InboxItem[] } | { type: 'item'; item: InboxItem }
export type InboxStream = (
  options?: Omit<EventsOptions, 'after'>,
) => AsyncGenerator<InboxChange[], void, undefined>

export function inboxWith(
  baseUrl: string,
  send: Send,
  apiByDefault: boolean,
  tuning: StreamTuning,
): InboxStream {
  return (options = {}) =>
    resume({
      ...tuning,
      signal: options.signal ?? new AbortController().signal,
      onState: options.onState ?? (() => {}),
      open: signal =>
        send(baseUrl + pathOf('streamInbox', { api: options.api ?? apiByDefault }), {
          headers: { accept: 'text/event-stream' },
          cache: 'no-store',
          signal,
        }),
      accept: readChange,
    })
}

/** Frames of other names are of a newer server and pass by. */
function readChange(frame: Frame): InboxChange | null {
  if (frame.event === 'snapshot') {
    const { items } = JSON.parse(frame.data) as { items: InboxItem[] }
    return { type: 'snapshot', items }
  }
  return frame.event === 'item' ? { type: 'item', item: JSON.parse(frame.data) as InboxItem } : null
}
