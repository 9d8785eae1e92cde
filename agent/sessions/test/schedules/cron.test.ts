import { rounds } from '@cairn/protocol/test/sample'
import { Cron } from 'croner'
import { CronExpressionParser } from 'cron-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseCron } from '../../src/schedules/cron.ts'
import { nextScheduledTimeOf } from '../../src/schedules/scheduled-times.ts'
import { timingOf } from '../../src/schedules/parse-schedule.ts'
import { instantOf, zoneName, zoneOf } from '../../src/schedules/zone.ts'

/** The long runs are for the nightly job. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'America/Santiago']

const nextOf = (cron: string, timezone: string) => nextScheduledTimeOf({ kind: 'cron', cron, timezone })
function slots(cron: string, zone: string, from: string, to: string): string[] {
  const next = nextOf(cron, zone)
  const found: string[] = []
  for (let at = next(Date.parse(from)); at !== null && at < Date.parse(to); at = next(at))
    found.push(new Date(at).toISOString().replace(':00.000Z', 'Z'))
  return found
}

/** docs/schedules.md contains the same table for users. */
const GOLDEN: [cron: string, zone: string, from: string, to: string, slots: string[]][] = [
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-30T00:00Z', ['2026-03-29T01:00Z']],
  ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', '2026-10-26T00:00Z', ['2026-10-25T00:30Z']],
  [
    '*/30 * * * *',
    'Europe/Berlin',
    '2026-10-24T23:59Z',
    '2026-10-25T02:10Z',
    ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z', '2026-10-25T02:00Z'],
  ],
  [
    '0 */2 * * *',
    'Europe/Berlin',
    '2026-10-24T23:00Z',
    '2026-10-25T04:00Z',
    ['2026-10-25T00:00Z', '2026-10-25T03:00Z'],
  ],
  [
    '0 */2 * * *',
    'Europe/Berlin',
    '2026-03-29T00:00Z',
    '2026-03-29T03:00Z',
    ['2026-03-29T01:00Z', '2026-03-29T02:00Z'],
  ],
  ['0,20,40 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', '2026-03-29T12:00Z', ['2026-03-29T01:00Z']],
  [
    '0,20,40 2 * * *',
    'Europe/Berlin',
    '2026-10-24T12:00Z',
    '2026-10-25T12:00Z',
    ['2026-10-25T00:00Z', '2026-10-25T00:20Z', '2026-10-25T00:40Z'],
  ],
  [
    '*/30 * * * *',
    'Europe/Berlin',
    '2026-03-29T00:29Z',
    '2026-03-29T01:31Z',
    ['2026-03-29T00:30Z', '2026-03-29T01:00Z', '2026-03-29T01:30Z'],
  ],
  ['0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z', '2026-09-06T12:00Z', ['2026-09-06T04:00Z']],
  ['0 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', '2026-10-04T00:00Z', ['2026-10-03T15:30Z']],
  ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', '2026-10-04T00:00Z', ['2026-10-03T15:30Z']],
  ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00Z', '2026-04-05T00:00Z', ['2026-04-04T14:45Z']],
  [
    '0 12 * * *',
    'Pacific/Apia',
    '2011-12-30T00:00Z',
    '2011-12-31T00:00Z',
    ['2011-12-30T10:00Z', '2011-12-30T22:00Z'],
  ],
  ['30 1 * * *', 'Europe/London', '2026-10-24T12:00Z', '2026-10-25T12:00Z', ['2026-10-25T00:30Z']],
  ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', '2026-03-08T12:00Z', ['2026-03-08T07:00Z']],
  ['0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', '2033-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
  [
    '0 0 13 * FRI',
    'UTC',
    '2026-02-01T00:00Z',
    '2026-02-15T00:00Z',
    ['2026-02-06T00:00Z', '2026-02-13T00:00Z'],
  ],
  ['@monthly', 'Asia/Kolkata', '2026-01-15T00:00Z', '2026-02-15T00:00Z', ['2026-01-31T18:30Z']],
]

describe('the time zone rules', () => {
  /** Promise 14.17: Schedules follow the clock of their time zone, including its clock changes. */
  test.each(GOLDEN)('%s in %s from %s until %s', (cron, zone, from, to, expected) => {
    expect(slots(cron, zone, from, to)).toEqual(expected)
  })

  test('a skipped time maps to the instant of the clock change, and a repeated time to both instants', () => {
    const berlin = zoneOf('Europe/Berlin')
    expect(instantOf(berlin, Date.UTC(2026, 2, 29, 2, 30))).toEqual({
      instant: Date.UTC(2026, 2, 29, 1),
      exists: false,
      again: null,
    })
    expect(instantOf(berlin, Date.UTC(2026, 9, 25, 2, 30))).toEqual({
      instant: Date.UTC(2026, 9, 25, 0, 30),
      exists: true,
      again: Date.UTC(2026, 9, 25, 1, 30),
    })
  })

  test('time zone names are accepted, and offsets and unknown names are not', () => {
    for (const name of [...ZONES, 'UTC', 'Etc/GMT+5', 'America/Argentina/Buenos_Aires'])
      expect(zoneName(name), name).not.toBeNull()
    for (const name of [
      '',
      '+02:00',
      'Berlin/Europe',
      'Mars/Olympus',
      '../etc/passwd',
      'Europe/Berlin ',
      'é',
    ])
      expect(zoneName(name), name).toBeNull()
  })

  test('schedules store one spelling of a time zone, however it was written', () => {
    const spelt = ['europe/berlin', 'EUROPE/BERLIN', 'eUROPE/bERLIN'].map(timezone =>
      timingOf({ cron: '@daily', timezone }, 'UTC', 0),
    )
    expect(spelt.map(timing => timing.kind === 'cron' && timing.timezone)).toEqual([
      'Europe/Berlin',
      'Europe/Berlin',
      'Europe/Berlin',
    ])
    expect(timingOf({ cron: '@daily', timezone: 'utc' }, 'UTC', 0)).toMatchObject({ timezone: 'UTC' })
    expect(zoneName('Asia/Kolkata')).toBe('Asia/Kolkata')
  })

  test('the cache of time zones is bounded, however many spellings are requested', () => {
    const first = zoneOf('asia/Kolkata')
    expect(zoneOf('asia/Kolkata')).toBe(first)
    const cased = (bits: number): string =>
      [...'europe/berlin'].map((char, at) => (bits & (1 << at) ? char.toUpperCase() : char)).join('')
    for (let bits = 0; bits < 1000; bits++) zoneOf(cased(bits))
    expect(zoneOf('asia/Kolkata')).not.toBe(first)
  })
})

describe('a year', () => {
  /** Promise 14.17: The scheduled times of a whole year have zero drift. */
  test.each(ZONES)('of hourly and daily scheduled times in %s has drift 0', zone => {
    const [from, to] = [Date.UTC(2026, 0), Date.UTC(2027, 0)]
    const count = (cron: string): number[] => {
      const next = nextOf(cron, zone)
      const found: number[] = []
      for (let at = next(from - 1); at !== null && at < to; at = next(at)) found.push(at)
      return found
    }
    const wall = (at: number): number => at + zoneOf(zone).offsetAt(at)
    const hourly = count('0 * * * *')
    for (const at of hourly) expect(wall(at) % HOUR, new Date(at).toISOString()).toBe(0)
    // A zone that shifts by half an hour skips one full hour in spring, and repeats none in autumn.
    expect(hourly).toHaveLength(zone === 'Australia/Lord_Howe' ? 8759 : 8760)
    const daily = count('30 9 * * *')
    expect(daily).toHaveLength(365)
    for (const at of daily) expect(wall(at) % DAY, new Date(at).toISOString()).toBe(9.5 * HOUR)
  })

  test.each(ZONES)('of minutes in %s contains every minute once', zone => {
    // The days around the two clock changes; the whole year in the long run.
    const spans: [number, number][] =
      rounds(0, 1) === 1
        ? [[Date.UTC(2026, 0), Date.UTC(2027, 0)]]
        : changesOf(zone, 2026).map(at => [at - DAY, at + DAY] as [number, number])
    const next = nextOf('* * * * *', zone)
    let slipped = 0
    for (const [from, to] of spans)
      for (let at = from; at < to; at += MINUTE) if (next(at) !== at + MINUTE) slipped += 1
    expect(slipped).toBe(0)
  })

  test('of intervals is a fixed grid from its anchor, independent of the query time', () => {
    const anchor_at = Date.UTC(2026, 0, 1, 12, 0, 0, 123)
    const next = nextScheduledTimeOf({ kind: 'interval', interval_s: 420, anchor_at })
    let at = anchor_at
    for (let k = 1; k <= 75_000; k++) {
      at = next(at)!
      if (at !== anchor_at + k * 420_000) expect(at).toBe(anchor_at + k * 420_000)
    }
    expect(next(anchor_at - 5 * DAY)).toBe(anchor_at + 420_000)
  })
})

function changesOf(zone: string, year: number): number[] {
  const found: number[] = []
  const { changeIn } = zoneOf(zone)
  const to = Date.UTC(year + 1, 0)
  for (let at = changeIn(Date.UTC(year, 0), to); at !== null; at = changeIn(at, to)) found.push(at)
  return found
}

const field = (min: number, max: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min, max })
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    value.map(String),
    fc
      .uniqueArray(value, { minLength: 2, maxLength: 4 })
      .map(list => list.toSorted((a, b) => a - b).join(',')),
    fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.integer({ min: 2, max: Math.max(2, max) }).map(step => `*/${step}`),
  )
}
const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6))
  .map(fields => fields.join(' '))
const instant = fc
  .integer({ min: Date.UTC(2020, 0) / 1000, max: Date.UTC(2035, 0) / 1000 })
  .map(s => s * 1000)

describe('compared with other libraries', () => {
  test('croner and cron-parser agree in UTC, which has no clock changes', () => {
    let compared = 0
    fc.assert(
      fc.property(expression, instant, (cron, from) => {
        const next = nextOf(cron, 'UTC')
        const croner = new Cron(cron, { timezone: 'UTC', mode: '5-part' })
        const parser = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(from) })
        let at = from
        for (let nth = 0; nth < 5; nth++) {
          const ours = next(at)
          expect(ours, `${cron} after ${new Date(at).toISOString()}`).toBe(
            croner.nextRun(new Date(at))?.getTime() ?? null,
          )
          expect(parser.next().getTime(), `cron-parser: ${cron}`).toBe(ours)
          compared += 1
          at = ours!
        }
      }),
      { numRuns: rounds(200, 5_000) },
    )
    expect(compared).toBeGreaterThan(900)
  })

  /**
   * Promise 14.17: Away from clock changes, the next scheduled time equals that of croner and cron-parser.
   */
  test('croner and cron-parser agree in time zones, away from clock changes', () => {
    let compared = 0
    fc.assert(
      fc.property(expression, fc.constantFrom(...ZONES), instant, (cron, timezone, from) => {
        const next = nextOf(cron, timezone)
        const ours = next(from)
        if (ours === null) return
        // The other libraries compute from wall times of a day, so they may differ near a clock change.
        if (zoneOf(timezone).changeIn(from - 2 * DAY, ours + 2 * DAY) !== null) return
        const croner = new Cron(cron, { timezone, mode: '5-part' }).nextRun(new Date(from))?.getTime()
        const parser = CronExpressionParser.parse(cron, { tz: timezone, currentDate: new Date(from) })
        expect(
          [croner, parser.next().getTime()],
          `${cron} ${timezone} ${new Date(from).toISOString()}`,
        ).toEqual([ours, ours])
        compared += 1
      }),
      { numRuns: rounds(300, 5_000) },
    )
    expect(compared).toBeGreaterThan(100)
  })

  /** The differences from the rules and between the libraries: docs/schedules.md shows this table. */
  test('croner and cron-parser differ on days of a clock change as documented', () => {
    const show = (at: number): string => new Date(at).toISOString().slice(5, 16)
    const theirs = (cron: string, tz: string, from: string, to: string) => {
      const until = Date.parse(to)
      const ofCroner: string[] = []
      const job = new Cron(cron, { timezone: tz, mode: '5-part' })
      for (let at = job.nextRun(new Date(from)); at !== null && at.getTime() < until; at = job.nextRun(at))
        ofCroner.push(show(at.getTime()))
      const ofParser: string[] = []
      const parser = CronExpressionParser.parse(cron, { tz, currentDate: new Date(from) })
      for (let at = parser.next().getTime(); at < until; at = parser.next().getTime()) ofParser.push(show(at))
      return { croner: ofCroner, 'cron-parser': ofParser }
    }
    const rows = GOLDEN.map(([cron, zone, from, to, ours]) => {
      const others = theirs(cron, zone, from, to)
      const mine = ours.map(at => show(Date.parse(at)))
      const same = (list: string[]): string => (list.join(' ') === mine.join(' ') ? 'same' : list.join(' '))
      return [cron, zone, from.slice(0, 10), same(others.croner), same(others['cron-parser'])]
    })
    expect(rows.filter(row => row[3] !== 'same' || row[4] !== 'same')).toMatchInlineSnapshot(`
      [
        [
          "30 2 * * *",
          "Europe/Berlin",
          "2026-03-28",
          "same",
          "03-29T01:30",
        ],
        [
          "0 */2 * * *",
          "Europe/Berlin",
          "2026-10-24",
          "10-25T00:00 10-25T01:00 10-25T03:00",
          "same",
        ],
        [
          "0 */2 * * *",
          "Europe/Berlin",
          "2026-03-29",
          "03-29T02:00",
          "same",
        ],
        [
          "0,20,40 2 * * *",
          "Europe/Berlin",
          "2026-03-28",
          "",
          "03-29T01:00 03-29T01:20 03-29T01:40",
        ],
        [
          "0,20,40 2 * * *",
          "Europe/Berlin",
          "2026-10-24",
          "10-25T00:00 10-25T00:20 10-25T00:40 10-25T01:00 10-25T01:20 10-25T01:40",
          "same",
        ],
        [
          "0 2 * * *",
          "Australia/Lord_Howe",
          "2026-10-03",
          "same",
          "",
        ],
        [
          "15 2 * * *",
          "Australia/Lord_Howe",
          "2026-10-03",
          "same",
          "",
        ],
        [
          "0 12 * * *",
          "Pacific/Apia",
          "2011-12-30",
          "12-30T22:00",
          "12-30T22:00",
        ],
        [
          "30 2 * * *",
          "America/New_York",
          "2026-03-07",
          "same",
          "03-08T07:30",
        ],
      ]
    `)
  })
})

describe('the next scheduled time', () => {
  test('is later than the query, and no other scheduled time is between', () => {
    fc.assert(
      fc.property(
        expression,
        fc.constantFrom(...ZONES),
        instant,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (cron, zone, from, share) => {
          const next = nextOf(cron, zone)
          const found = next(from)
          if (found === null) return
          expect(found).toBeGreaterThan(from)
          expect(next(Math.floor(from + (found - from - 1) * share))).toBe(found)
        },
      ),
      { numRuns: rounds(300, 5_000) },
    )
  })
})

describe('an invalid expression', () => {
  test.each([
    ['61 * * * *', /61/],
    ['0 0 30 2 *', /30 February/],
    ['0 0 31 4,6,9,11 *', /never occurs/],
    ['* * *', /has 3 fields, expected five/],
    ['* * * * * *', /has 6 fields/],
    ['', /has 1 fields/],
    ['x * * * *', /illegal/],
    ['*/0 * * * *', /stepping: 0/],
    ['5-1 * * * *', /larger/],
    ['@often', /not one of @yearly/],
    ['0 0 ? * *', /"\?"/],
    [`${'1,'.repeat(500)}1 * * *`, /fields/],
  ])('%.20s is rejected with the reason', (text, words) => {
    const parsed = parseCron(text)
    expect('problem' in parsed && parsed.problem).toMatch(words)
    expect('problem' in parsed && parsed.problem.length).toBeLessThan(300)
  })
})
