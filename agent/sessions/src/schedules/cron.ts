/**
 * Cron expressions: croner finds the matching wall times; the rules for clock changes are here.
 *
 *   1. A wall time that exists once is that instant.
 *   2. Every hour matches (`*`): each matching minute that the clock shows, in a repeated hour both times.
 *   3. Only some hours match: each wall time exactly once. A repeated one is its first instant. A skipped one
 *      is the first instant after the gap; several that fall on that instant are one.
 */
import { Cron, CronPattern } from 'croner'
import { instantOf, type Zone } from './zone.ts'

export type CronTimes = {
  /** The first instant after this one; null if there is none. */
  next(zone: Zone, after: number): number | null
}

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const FIELDS = 'minute, hour, day of month, month, day of week'

/** The times of an expression, or why it is invalid and what would be valid. */
export function parseCron(expression: string): CronTimes | { problem: string } {
  const text = expression.trim()
  const pattern = NICKNAMES[text.toLowerCase()] ?? text
  if (pattern.startsWith('@'))
    return { problem: `${quote(text)} is not one of ${Object.keys(NICKNAMES).join(', ')}` }
  const fields = pattern.split(/\s+/)
  if (fields.length !== 5)
    return { problem: `${quote(text)} has ${fields.length} fields, expected five: ${FIELDS}` }
  if (/[?+]/.test(pattern))
    return {
      problem: `${quote(text)} contains ${quote(/[?+]/.exec(pattern)![0])}, which is not supported: use *`,
    }
  try {
    // Works on wall time, written as if it were UTC: there nothing is skipped or repeated.
    const cron = new Cron(pattern, { utcOffset: 0, mode: '5-part' })
    const { hour } = new CronPattern(pattern, undefined, { mode: '5-part' })
    const nextWall = (after: number): number | null => cron.nextRun(new Date(after))?.getTime() ?? null
    if (nextWall(Date.UTC(2000, 0)) === null)
      return {
        problem: `${quote(text)} never occurs: it selects a day that does not exist, such as 30 February`,
      }
    const everyHour = hour.every(each => each === 1)
    return { next: (zone, after) => (everyHour ? nextRead : nextOnce)(nextWall, zone, after) }
  } catch (error) {
    const why = (error instanceof Error ? error.message : String(error)).replace(/^CronPattern: /, '')
    return { problem: `${quote(text)}: ${why.replace(/\.+$/, '')}. The five fields are ${FIELDS}` }
  }
}
const quote = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)

type NextWall = (after: number) => number | null

/** Rule 2: searches from one clock change to the next, with the offset in between. */
function nextRead(nextWall: NextWall, zone: Zone, after: number): number | null {
  for (let from = after; ;) {
    const offset = zone.offsetAt(from)
    const wall = nextWall(from + offset)
    if (wall === null) return null
    const instant = wall - offset
    const change = zone.changeIn(from, instant)
    if (change === null) return instant
    // The wall time at the change itself counts too.
    const first = change + zone.offsetAt(change)
    if (nextWall(first - 1) === first) return change
    from = change
  }
}

/** Rules 1 and 3: instants rise with wall times, so the first that is late enough is the next. */
function nextOnce(nextWall: NextWall, zone: Zone, after: number): number | null {
  for (let wall = nextWall(after + zone.offsetAt(after)); wall !== null; wall = nextWall(wall)) {
    const { instant } = instantOf(zone, wall)
    if (instant > after) return instant
  }
  return null
}
