import type { Session } from './sessions.ts'

/** How many workers an idle session waits for; it resumes when they have ended. */
export const waitsFor = ({ state, open_children }: Pick<Session, 'state' | 'open_children'>): number =>
  state === 'idle' ? open_children : 0
