import type { Session } from './resources.ts'

/** How many workers a session at rest waits for: it goes on when they have ended. */
export const waitsFor = ({ state, open_children }: Pick<Session, 'state' | 'open_children'>): number =>
  state === 'idle' ? open_children : 0
