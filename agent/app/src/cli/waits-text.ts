/** Suffix of a session's line: the workers that still run although its own turn has ended. */
import { plural, type Session, waitsFor } from '@cairn/protocol'

export function waitsText(session: Pick<Session, 'state' | 'open_children'>): string {
  const workers = waitsFor(session)
  return workers === 0 ? '' : `  (${plural(workers, 'worker')} running)`
}
