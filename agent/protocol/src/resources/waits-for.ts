import type { Session } from './sessions.ts'

/** How many workers still run below a session whose own turn has ended. Such a session is shown as running. */
export const waitsFor = ({ state, open_children }: Pick<Session, 'state' | 'open_children'>): number =>
  state === 'idle' || state === 'done' ? open_children : 0
