/**
 * Time zones, by the rules that Intl knows. A wall time is written as the milliseconds that it would have in
 * UTC: "02:30 on 29 March" is Date.UTC(2026, 2, 29, 2, 30) in every zone.
 */
const DAY_MS = 86_400_000
/** No zone was ever further from UTC, and no two changes of a zone are closer together. */
const FARTHEST_MS = 16 * 3_600_000

export type Zone = {
  name: string
  /** Wall time minus instant, in milliseconds. */
  offsetAt(instant: number): number
  /** The first instant after `from`, up to `to`, at which the offset changes; null if there is none. */
  changeIn(from: number, to: number): number | null
}

/**
 * The canonical spelling of an IANA time zone or UTC, because Intl accepts any casing; null if unknown. An
 * alias is kept (Asia/Kolkata, although Intl returns Asia/Calcutta). An offset such as +02:00 is rejected,
 * because it has no daylight saving time.
 */
export function zoneName(name: string): string | null {
  if (!/^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(name)) return null
  try {
    const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
    return known.toLowerCase() === name.toLowerCase() ? known : name
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

const zones = new Map<string, Zone>()
/** More than are in use at a time; limits memory when callers send many spellings. */
const KEPT_ZONES = 200
/** `name` must be valid according to zoneName. Zones are shared, because each caches its offsets. */
export function zoneOf(name: string): Zone {
  const known = zones.get(name)
  if (known !== undefined) return known
  const made = name === 'UTC' ? UTC : createZone(name)
  if (zones.size >= KEPT_ZONES) zones.clear()
  zones.set(name, made)
  return made
}

const UTC: Zone = { name: 'UTC', offsetAt: () => 0, changeIn: () => null }
/** Maximum cached days of a zone: about ten years. */
const KEPT_DAYS = 4000

/** Offset at the start of a UTC day, and its change within that day, if there is one. */
type Day = { offset: number; change: { at: number; offset: number } | null }

function createZone(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const days = new Map<number, Day>()

  function measure(instant: number): number {
    const part: Record<string, string> = {}
    for (const { type, value } of format.formatToParts(instant)) part[type] = value
    const at = (type: string): number => Number(part[type])
    const wall = Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'))
    return wall - Math.floor(instant / 1000) * 1000
  }
  function dayOf(instant: number): Day {
    const number = Math.floor(instant / DAY_MS)
    const known = days.get(number)
    if (known !== undefined) return known
    const start = number * DAY_MS
    const offset = measure(start)
    const after = measure(start + DAY_MS)
    const day = {
      offset,
      change: offset === after ? null : { at: firstOf(start, start + DAY_MS, offset), offset: after },
    }
    if (days.size >= KEPT_DAYS) days.clear()
    days.set(number, day)
    return day
  }
  /** The first second in (from, to] with another offset than `offset`. */
  function firstOf(from: number, to: number, offset: number): number {
    let [before, found] = [from / 1000, to / 1000]
    while (found - before > 1) {
      const middle = Math.floor((before + found) / 2)
      if (measure(middle * 1000) === offset) before = middle
      else found = middle
    }
    return found * 1000
  }
  return {
    name,
    offsetAt(instant) {
      const { offset, change } = dayOf(instant)
      return change !== null && instant >= change.at ? change.offset : offset
    },
    changeIn(from, to) {
      for (let day = Math.floor(from / DAY_MS); day * DAY_MS <= to; day++) {
        const { change } = dayOf(day * DAY_MS)
        if (change !== null && change.at > from && change.at <= to) return change.at
      }
      return null
    },
  }
}

/**
 * The first instant with this wall time; if clocks are set forward over it, the instant of that change, with
 * `exists` false. `again` is its second instant, if clocks are set back.
 */
export function instantOf(
  zone: Zone,
  wall: number,
): { instant: number; exists: boolean; again: number | null } {
  const earliest = wall - FARTHEST_MS
  const latest = wall + FARTHEST_MS
  const found = [...new Set([zone.offsetAt(earliest), zone.offsetAt(latest)])]
    .map(offset => wall - offset)
    .filter(instant => instant + zone.offsetAt(instant) === wall)
    .toSorted((a, b) => a - b)
  const [instant, again = null] = found
  if (instant !== undefined) return { instant, exists: true, again }
  const change = zone.changeIn(earliest, latest)
  if (change === null)
    throw new Error(`[zone] the local time ${new Date(wall).toISOString()} does not exist in ${zone.name}`)
  return { instant: change, exists: false, again: null }
}
