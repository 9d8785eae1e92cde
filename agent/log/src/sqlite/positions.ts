/**
 * Maps a session's events to the table of all events. The newest positions are stored in the session's own
 * row, which every commit writes anyway; after some dozens they are moved to event_positions together, onto
 * one page instead of one page each. Their ids need no space: they are the session's last ones, without a
 * gap.
 */

/** Characters of positions in the row above which they are moved: about thirty positions. */
const FULL = 256

export const addPosition = (recent: string, pos: number): string =>
  recent === '' ? String(pos) : `${recent},${pos}`
export const parsePositions = (recent: string): number[] =>
  recent === '' ? [] : recent.split(',').map(Number)
export const isFull = (recent: string): boolean => recent.length >= FULL
