/** The keys of the EVENTS tab and what they do. */
import type { KeyboardEvent } from 'react'

/** What a key means in the tab; null for one that means nothing there. */
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
/** Where a key was pressed: in the grid, on nothing in particular, or on a button, link or tab. */
export type KeyPlace = 'grid' | 'page' | 'control'
/** These work on a control too; the others mean something there already. */
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
/** What moves in the grid brings the focus along, so that the keys that follow are the grid's. */
export const movesInGrid = (command: EventCommand): boolean => MOVES.has(command)
