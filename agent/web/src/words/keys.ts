/** The keys of the product, by the page on which they work. */

import { EVENT_KEYS } from './events.ts'
import { runWords } from './run.ts'

export type KeyRow = readonly [keys: readonly string[], text: string]
type KeyArea = { title: string; at: RegExp; rows: readonly KeyRow[] }

export const keysWords = {
  title: 'Keys',
  go: 'G',
  letterKeys: 'Single-letter keys',
  letterKeysNote: 'Letters, digits and signs act as keys while no field has the focus.',
  letterKeysOff: 'Off: only the keys below work. The palette has every action.',
  everywhere: 'Everywhere',
  everywhereRows: [
    [['Ctrl', 'K'], 'Search and commands'],
    [['C'], 'New session'],
    [['['], 'Fold the navigation'],
    [['?'], 'Keys'],
  ] satisfies KeyRow[],
}

const isCharacter = (key: string): boolean => /^(?:[!-~−]|1…9)$/.test(key)

/** What is left of a row without single-letter keys; null: nothing. */
export function withoutLetters([keys, text]: KeyRow): KeyRow | null {
  if (keys.includes('Ctrl') || !keys.some(isCharacter)) return [keys, text]
  const left = keys.filter(key => !isCharacter(key) && key !== 'Shift')
  return left.length === 0 ? null : [left, text]
}

export const KEY_AREAS: readonly KeyArea[] = [
  {
    title: 'Inbox',
    at: /^\/inbox/,
    rows: [
      [['J', 'K'], 'Next and previous item'],
      [['A'], 'Approve once'],
      [['R'], 'Reject, with a reason'],
      [['1…9'], 'Choose an answer'],
      [['Enter'], 'Go to the answer'],
      [['E'], 'Done or acknowledge'],
      [['Shift', 'E'], 'Acknowledge all news'],
      [['H'], 'Snooze, or end the snooze'],
      [['U'], 'Mark as unread'],
      [['Z'], 'Undo an acknowledgement or a snooze'],
      [['X'], 'Select an approval'],
      [['Shift', 'J'], 'Extend the selection'],
      [['O'], 'Open the session'],
    ],
  },
  {
    title: 'Chat',
    at: /^\/sessions\/[^/]+\/?$/,
    rows: [
      [['A'], 'Approve once'],
      [['R'], 'Reject, with a reason'],
      [['1…9'], 'Choose an answer'],
      [['Esc'], 'Stop, in the message field'],
      [['Enter'], 'Send, in the message field'],
      [['Shift', 'Enter'], 'New line, in the message field'],
      [['↑'], 'Earlier message, in the empty message field'],
    ],
  },
  {
    title: 'Run',
    at: /^\/sessions\/[^/]+\/run/,
    rows: runWords.keys.map(([keys, text]) => [keys.split(' '), text]),
  },
  { title: 'Events', at: /^\/sessions\/[^/]+\/events/, rows: EVENT_KEYS },
]
