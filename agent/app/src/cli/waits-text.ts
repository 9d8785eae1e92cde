/** Suffix of a session's line: a resting session waits for its workers. */
import { plural, type Session, waitsFor } from '@cairn/protocol'

export function waitsText(session: Pick<Session, 'state' | 'open_children'>): string {
  const workers = waitsFor(session)
  return workers === 0 ? '' : `  (waiting for ${plural(workers, 'worker')})`
}
