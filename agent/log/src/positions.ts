/**
 * Where the events of a session are in the table of all events. The newest positions stand in the session's
 * own row, which every commit writes anyway; once there are some dozens they move to event_positions
 * together, onto one page instead of one page each. Their ids need no space: they are the last ones of the
 * session, without a gap.
 */

/** Characters of positions at which they move: about thirty of them. */
const FULL = 256

export const addPosition = (recent: string, pos: number): string =>
  recent === '' ? String(pos) : `${recent},${pos}`
export const parsePositions = (recent: string): number[] =>
  recent === '' ? [] : recent.split(',').map(Number)
export const isFull = (recent: string): boolean => recent.length >= FULL
