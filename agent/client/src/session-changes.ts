/** Live changes of sessions: when to read the list (first and after reconnections), then each change. */
import type { Session } from '@cairn/protocol'
import { pathOf } from './call.ts'
import type { Send } from './credentials.ts'
import type { EventsOptions, StreamTuning } from './events.ts'
import { type Frame, resume } from './resume.ts'

type SessionChange = { type: 'opened' } | { type: 'session'; session: Session }
export type SessionStream = (
  options?: Omit<EventsOptions, 'after'>,
) => AsyncGenerator<SessionChange[], void, undefined>

export function sessionChangesWith(
  baseUrl: string,
  send: Send,
  apiByDefault: boolean,
  tuning: StreamTuning,
): SessionStream {
  return (options = {}) =>
    resume({
      ...tuning,
      signal: options.signal ?? new AbortController().signal,
      onState: options.onState ?? (() => {}),
      open: signal =>
        send(baseUrl + pathOf('streamSessions', { api: options.api ?? apiByDefault }), {
          headers: { accept: 'text/event-stream' },
          cache: 'no-store',
          signal,
        }),
      accept: readChange,
    })
}

/** Frames of other names are of a newer server and pass by. */
function readChange({ event, data }: Frame): SessionChange | null {
  if (event === 'opened') return { type: 'opened' }
  return event === 'session' ? { type: 'session', session: JSON.parse(data) as Session } : null
}
