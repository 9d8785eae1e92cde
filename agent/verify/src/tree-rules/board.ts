/**
 * Rules of the board over a log (contract 14.16): cursors rise, each update continues the one before, and no
 * note appears in two deltas. Part of `checkTree`.
 */
import type { SessionEvent } from '@cairn/protocol'

export function checkBoard(id: string, log: readonly SessionEvent[]): string[] {
  const found: string[] = []
  const told = new Set<string>()
  let cursor: number | null = null
  for (const event of log) {
    if (event.type !== 'board.update') continue
    const { kind, cursor_from, cursor_to, content } = event.data
    const isRisen: boolean =
      cursor === null || cursor_to > cursor || (kind === 'snapshot' && cursor_to === cursor)
    if (!isRisen) found.push(`${id}: a board update to ${cursor_to} after one to ${cursor}`)
    if (kind === 'delta' && cursor_from !== cursor)
      found.push(`${id}: a delta from ${cursor_from}, but it had read to ${cursor}`)
    if (kind === 'snapshot' && cursor_from !== null) found.push(`${id}: a snapshot from ${cursor_from}`)
    cursor = cursor_to
    for (const [, note = ''] of content.matchAll(/^\[(n\d+) /gm)) {
      if (kind === 'delta' && told.has(note)) found.push(`${id}: a delta repeats ${note}`)
      told.add(note)
    }
  }
  return found
}
