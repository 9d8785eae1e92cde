/** The keys of the EVENTS tab and their commands. */
import type { KeyboardEvent } from 'react'

/** The command of a key in the tab; null if it has none. */
export type EventCommand =
  | 'down'
  | 'up'
  | 'page-down'
  | 'page-up'
  | 'first'
  | 'last'
  | 'open'
  | 'close'
  | 'search'
  | 'jump'
  | 'follow'
  | 'copy'
  | 'help'
const COMMANDS: Record<string, EventCommand> = {
  j: 'down',
  ArrowDown: 'down',
  k: 'up',
  ArrowUp: 'up',
  PageDown: 'page-down',
  PageUp: 'page-up',
  Home: 'first',
  End: 'last',
  G: 'last',
  Enter: 'open',
  Escape: 'close',
  '/': 'search',
  g: 'jump',
  f: 'follow',
  c: 'copy',
  '?': 'help',
}
/** Where a key was pressed: in the grid, on a button, link or tab (`control`), or elsewhere on the page. */
export type KeyPlace = 'grid' | 'page' | 'control'
/** Commands that also work on a control; the other keys have their own meaning there. */
const EVERYWHERE: ReadonlySet<EventCommand> = new Set([
  'search',
  'jump',
  'follow',
  'help',
  'close',
  'copy',
  'down',
  'up',
])

export function commandOf(
  event: Pick<KeyboardEvent | globalThis.KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  place: KeyPlace,
): EventCommand | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null
  const command = COMMANDS[event.key] ?? null
  if (command === null || place !== 'control') return command
  return EVERYWHERE.has(command) && !event.key.startsWith('Arrow') ? command : null
}

const MOVES: ReadonlySet<EventCommand> = new Set([
  'down',
  'up',
  'page-down',
  'page-up',
  'first',
  'last',
  'open',
])
/** Commands that move within the grid also focus it, so that it receives the next keys. */
export const movesInGrid = (command: EventCommand): boolean => MOVES.has(command)
