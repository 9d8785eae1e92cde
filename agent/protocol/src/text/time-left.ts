/** Formats times that lie ahead, for people. Pure: the current time and the zone are arguments. */
import { plural } from './amounts.ts'

/** "29 min", "12 h" or "3 days", rounded; at least a minute. */
export function formatLeft(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : plural(Math.round(hours / 24), 'day')
}

/** "30 Nov, 09:00" in a time zone, with the year if it is not the year of `now` there. */
export function formatInZone(at: number, now: number, timeZone: string): string {
  const part = (ms: number, options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).format(ms)
  const year = part(at, { year: 'numeric' })
  const day = part(at, { day: 'numeric', month: 'short' })
  const clock = part(at, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  return `${day}${year === part(now, { year: 'numeric' }) ? '' : ` ${year}`}, ${clock}`
}
