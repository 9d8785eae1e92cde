/** `strftime` of Python with glibc, for local time without a time zone, in English. */
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** A number with the character that fills it up to a width. */
type Numeral = { value: number; width: number; fill: string }
type Part = string | Numeral

const number = (value: number, width = 2, fill = '0'): Numeral => ({ value, width, fill })

const hour12 = (date: Date) => date.getHours() % 12 || 12

/** Days since 1 January, from 0. */
function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 1)
  return Math.round((Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000)
}

/** The week of the year, whose first week starts with the first `startDay` of the year. */
const week = (date: Date, startDay: number): number =>
  Math.floor((dayOfYear(date) + 7 - ((date.getDay() - startDay + 7) % 7)) / 7)

/** Year and week of ISO 8601, which the Thursday of the week decides. */
function isoWeek(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (date.getDay() || 7))
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 }
}

const DIRECTIVES: Readonly<Record<string, (date: Date) => Part>> = {
  a: date => (DAYS[date.getDay()] ?? '').slice(0, 3),
  A: date => DAYS[date.getDay()] ?? '',
  b: date => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  B: date => MONTHS[date.getMonth()] ?? '',
  c: date => formatTime(date, '%a %b %e %H:%M:%S %Y'),
  C: date => number(Math.floor(date.getFullYear() / 100)),
  d: date => number(date.getDate()),
  D: date => formatTime(date, '%m/%d/%y'),
  e: date => number(date.getDate(), 2, ' '),
  f: date => String(date.getMilliseconds() * 1000).padStart(6, '0'),
  F: date => formatTime(date, '%Y-%m-%d'),
  g: date => number(isoWeek(date).year % 100),
  G: date => number(isoWeek(date).year, 4),
  h: date => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  H: date => number(date.getHours()),
  I: date => number(hour12(date)),
  j: date => number(dayOfYear(date) + 1, 3),
  k: date => number(date.getHours(), 2, ' '),
  l: date => number(hour12(date), 2, ' '),
  m: date => number(date.getMonth() + 1),
  M: date => number(date.getMinutes()),
  n: () => '\n',
  p: date => (date.getHours() < 12 ? 'AM' : 'PM'),
  P: date => (date.getHours() < 12 ? 'am' : 'pm'),
  r: date => formatTime(date, '%I:%M:%S %p'),
  R: date => formatTime(date, '%H:%M'),
  s: date => number(Math.floor(date.getTime() / 1000), 1),
  S: date => number(date.getSeconds()),
  t: () => '\t',
  T: date => formatTime(date, '%H:%M:%S'),
  u: date => number(date.getDay() || 7, 1),
  U: date => number(week(date, 0)),
  V: date => number(isoWeek(date).week),
  w: date => number(date.getDay(), 1),
  W: date => number(week(date, 1)),
  x: date => formatTime(date, '%m/%d/%y'),
  X: date => formatTime(date, '%H:%M:%S'),
  y: date => number(date.getFullYear() % 100),
  Y: date => number(date.getFullYear(), 1),
  // A time without a zone has neither offset nor name.
  z: () => '',
  Z: () => '',
  '%': () => '%',
}

const DIRECTIVE = /%([-_0^#]*)(\d*)([EO]?)([\s\S]?)/g

export const formatTime = (date: Date, format: string): string =>
  format.replaceAll(DIRECTIVE, (whole, flags: string, width: string, _modifier: string, name: string) => {
    const part = DIRECTIVES[name]?.(date)
    return part === undefined ? whole : written(part, flags, Number(width))
  })

function written(part: Part, flags: string, width: number): string {
  const flag = /[-_0](?=[^-_0]*$)/.exec(flags)?.[0]
  if (typeof part === 'string') {
    const text = flags.includes('^') || flags.includes('#') ? part.toUpperCase() : part
    return text.padStart(width, flag === '0' ? '0' : ' ')
  }
  if (flag === '-') return String(part.value)
  const fill = flag === '_' ? ' ' : flag === '0' ? '0' : part.fill
  return String(part.value).padStart(Math.max(width, width > 0 ? 0 : part.width), fill)
}
