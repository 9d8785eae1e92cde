/** The head and the tabs of a session. */
import type { Connection } from '../session/followed-session.ts'

export const sessionWords = {
  connections: {
    connecting: 'Connecting',
    live: 'Live',
    reconnecting: 'Reconnecting',
    draining: 'Server restarting',
    closed: 'Not following',
    failed: 'Disconnected',
  } satisfies Record<Connection, string>,
  reconnect: 'Reconnect',
  lastKnown: ' (last known)',
  workerOf: 'Worker of {title}',
  anotherSession: 'another session',
  tokensUnit: ' tokens',
  noPrice: (models: string) => `No price set for ${models}`,
  workersCost: (cost: string) => `incl. ${cost} workers`,
  context: (used: string, window: string) => `Context: ${used} of ${window} tokens`,
  views: 'Session views',
  tabs: { chat: 'Chat', run: 'Run', workers: 'Workers', browser: 'Browser', events: 'EVENTS' },
  rail: 'Overview, changes, files, artifacts, timeline',
}
