/** Formats of times and sums in the UI. Pure: the current time is an argument. */
import { formatDuration, plural } from '@cairn/protocol'

export {
  formatCost,
  formatCount,
  formatDuration,
  formatSize,
  formatSpent,
  formatTokens,
  oneLine,
  plural,
} from '@cairn/protocol'

/** Signed difference to the previous event: "+0", "+12 ms", "+1.4 s". */
export const formatDelta = (ms: number): string =>
  ms === 0 ? '+0' : ms < 0 ? `−${formatDuration(-ms)}` : `+${formatDuration(ms)}`

/** For example "every minute", "every 5 minutes", "every hour" or "every 90 seconds". */
export function formatEvery(seconds: number): string {
  const [unit, name] = UNITS.find(([unit]) => seconds % unit === 0) ?? [1, 'second']
  return seconds === unit ? `every ${name}` : `every ${plural(seconds / unit, name)}`
}
const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const

/** For example "14:03:07.120", in the reader's time zone. */
export function formatClock(iso: string): string {
  const date = new Date(iso)
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** "14:03" today, "12 Mar, 14:03" on another day, in the reader's time zone. */
export function formatTime(iso: string, now: number): string {
  const date = new Date(iso)
  const time = [date.getHours(), date.getMinutes()].map(two).join(':')
  if (date.toDateString() === new Date(now).toDateString()) return time
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })}, ${time}`
}

const two = (n: number) => String(n).padStart(2, '0')
