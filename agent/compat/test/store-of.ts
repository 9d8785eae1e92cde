/** A store that holds one log, for the readers of exchanges. */
import type { StoredEvent } from '@cairn/log'
import type { EventType, SessionEvent } from '@cairn/protocol'
import type { CompatDeps } from '../src/deps.ts'

/** `onEnd` is called once nothing more is to be read. */
export const storeOf = (
  log: readonly SessionEvent[],
  onEnd: () => void = () => undefined,
): Pick<CompatDeps, 'store'> => {
  const watchers = new Set<() => void>()
  const store = {
    store: {
      sessions: {
        get: (id: string) => Promise.resolve({ id, last_event_id: log.at(-1)?.id ?? 0, state: 'done' }),
      },
      events: {
        read: (
          _: string,
          after: number,
          limit: number,
          types?: readonly string[],
        ): Promise<StoredEvent[]> => {
          const page = log
            .filter(({ id, type }) => id > after && (types === undefined || types.includes(type)))
            .slice(0, limit)
          if (page.length === 0 && types === undefined) {
            const { length } = log
            onEnd()
            if (log.length > length) for (const notify of watchers) notify()
          }
          return Promise.resolve(
            page.map(event => ({
              id: event.id,
              type: event.type as EventType,
              json: JSON.stringify(event),
            })),
          )
        },
        watch: (_: string, notify: () => void) => {
          watchers.add(notify)
          return () => watchers.delete(notify)
        },
      },
    },
  }
  return store as never
}
