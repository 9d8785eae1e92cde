import { rounds } from '@cairn/protocol/test/sample'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decideCancel,
  decideChange,
  decideDue,
  decideEnded,
  decideManual,
  decidePause,
  decideResume,
} from '../../src/schedules/decide.ts'
import type { ScheduleContext, Decision } from '../../src/schedules/pending-decision.ts'
import {
  newState,
  type RunOutcome,
  type RunRow,
  type Schedule,
  type ScheduleSpec,
} from '../../src/schedules/schedule.ts'
import { jitterOf, nextScheduledTimeOf } from '../../src/schedules/scheduled-times.ts'

/** The long runs are for the nightly job. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 2, 28, 12)
const AROUND: ScheduleContext = { parent: 'open', owner: 'enabled' }

const specOf = (given: Partial<ScheduleSpec> = {}): ScheduleSpec => ({
  name: null,
  prompt: 'look',
  timing: { kind: 'interval', interval_s: 60, anchor_at: START },
  missed: 'once',
  catch_up_s: 86_400,
  overlap: 'skip',
  jitter_s: 0,
  max_runs: null,
  expires_at: null,
  on_result: 'note',
  late_s: 300,
  max_failures: 5,
  run: { agent: 'assistant', max_iterations: 5, keep_s: 604_800 },
  ...given,
})

/** A schedule under test, with the rows that its decisions write. */
class Desk {
  schedule: Schedule
  due_at: number | null
  rows = new Map<number, RunRow>()
  started: number[] = []
  told: string[] = []
  stopped: number[] = []
  constructor(given: Partial<ScheduleSpec> = {}) {
    const spec = specOf(given)
    this.schedule = {
      id: 'a schedule',
      status: 'active',
      spec,
      state: newState(nextScheduledTimeOf(spec.timing)(START)),
    }
    this.due_at = this.schedule.state.slot_at! + jitterOf('a schedule', spec)
  }
  take({ status, state, due_at, rows, start, stop, notify }: Decision): void {
    this.schedule = { ...this.schedule, status, state }
    this.due_at = due_at
    for (const row of rows) {
      const before = this.rows.get(row.slot_at)
      const collapsed = Math.max(before?.collapsed ?? 0, row.collapsed)
      this.rows.set(row.slot_at, { ...row, collapsed })
    }
    if (start !== null) this.started.push(start.slot_at)
    if (stop !== null) this.stopped.push(stop.slot_at)
    if (notify !== null) this.told.push(notify)
  }
  /** Handles everything that is due at that time, as the claimer of timers does. */
  at(now: number, around: Partial<ScheduleContext> = {}): this {
    while (this.due_at !== null && this.due_at <= now)
      this.take(decideDue(this.schedule, now, { ...AROUND, ...around }))
    return this
  }
  end(outcome: RunOutcome, now: number): this {
    const { running } = this.schedule.state
    if (running !== null) this.take(decideEnded(this.schedule, running, outcome, `ended ${now}`, now))
    return this
  }
  said(): string[] {
    return [...this.rows.values()].map(
      ({ slot_at, status, reason, collapsed }) =>
        `${(slot_at - START) / MINUTE} ${status}${reason === null ? '' : ` ${reason}`}` +
        (collapsed === 0 ? '' : ` +${collapsed}`),
    )
  }
}

/** The number of scheduled times from the start, by rows and by the counters of the state. */
function accountedFor({ rows, schedule }: Desk): { rows: number; state: number } {
  const { slot_count, skipped_count } = schedule.state
  const scheduled = [...rows.values()].filter(row => !row.manual)
  const begun = scheduled.filter(row => row.status !== 'skipped').length
  return {
    rows: scheduled.reduce((sum, row) => sum + 1 + row.collapsed, 0),
    state: begun + skipped_count === slot_count ? slot_count : Number.NaN,
  }
}

describe('due scheduled times', () => {
  test('start a run each, and the next one is on the grid however late the check was', () => {
    const desk = new Desk()
    for (let k = 1; k <= 1440; k++) {
      desk.at(START + k * MINUTE + (k % 7) * 1000).end('success', START + k * MINUTE + 20_000)
    }
    expect(desk.started).toEqual(Array.from({ length: 1440 }, (_, k) => START + (k + 1) * MINUTE))
    expect(accountedFor(desk)).toEqual({ rows: 1440, state: 1440 })
  })

  test('after an outage of a minute, an hour and three days start one run, for the last of them', () => {
    for (const [outage, expected] of [
      [MINUTE, ['1 running +1']],
      [HOUR, ['1 running +60']],
      [3 * DAY, ['1 skipped missed +2879', '2881 running +1440']],
    ] as const) {
      const desk = new Desk().at(START + MINUTE + outage)
      const last = START + MINUTE + outage
      expect(desk.started).toEqual([last])
      const total = outage / MINUTE + 1
      expect(accountedFor(desk)).toEqual({ rows: total, state: total })
      const said = desk.said().map(line => line.replace(/^\d+ running/, '1 running'))
      expect(said.map(line => line.replace(/^1 skipped/, '1 skipped'))).toEqual(
        expected.map(line => line.replace(/^\d+ running/, '1 running')),
      )
    }
  })

  test('with missed: skip start a run only if they are not late', () => {
    const hourly = {
      timing: { kind: 'interval', interval_s: 3600, anchor_at: START },
      missed: 'skip',
    } as const
    const late = new Desk(hourly).at(START + 3 * HOUR + 10 * MINUTE)
    expect(late.started).toEqual([])
    expect(late.said()).toEqual(['60 skipped missed +2'])
    const onTime = new Desk(hourly).at(START + 3 * HOUR + 4 * MINUTE)
    expect(onTime.started).toEqual([START + 3 * HOUR])
    expect(onTime.said()).toEqual(['60 skipped missed +1', '180 running'])
  })

  test('end a one-time schedule that missed its run, and notify a person', () => {
    const desk = new Desk({ timing: { kind: 'once', at: START + HOUR }, missed: 'skip' }).at(START + 2 * HOUR)
    expect(desk.told).toEqual(['missed'])
    expect(desk.schedule.status).toBe('completed')
    expect(desk.said()).toEqual(['60 skipped missed'])
  })

  test('are not repeated when the clock is set back an hour', () => {
    const desk = new Desk().at(START + 120 * MINUTE)
    const before = [...desk.started]
    for (let minute = 60; minute <= 120; minute++) {
      desk.end('success', START + minute * MINUTE)
      desk.at(START + minute * MINUTE)
    }
    expect(desk.started).toEqual(before)
    desk.at(START + 121 * MINUTE)
    expect(desk.started).toEqual([...before, START + 121 * MINUTE])
  })

  test('over weeks of minutes are counted in batches, and completely', () => {
    const desk = new Desk().at(START + 40 * DAY)
    expect(desk.started).toEqual([START + 40 * DAY])
    expect(accountedFor(desk)).toEqual({ rows: 40 * 1440, state: 40 * 1440 })
  })
})

describe('a scheduled time during a run', () => {
  test('is skipped, and further ones are counted in one row', () => {
    const desk = new Desk()
    for (let k = 1; k <= 5; k++) desk.at(START + k * MINUTE)
    expect(desk.said()).toEqual(['1 running', '2 skipped overlap +3'])
  })

  test('is queued, at most one, and starts when the run ends', () => {
    const desk = new Desk({ overlap: 'queue' })
    for (let k = 1; k <= 4; k++) desk.at(START + k * MINUTE)
    expect(desk.said()).toEqual(['1 running', '2 queued', '3 skipped overlap +1'])
    desk.end('success', START + 4 * MINUTE + 1)
    expect(desk.said()).toEqual(['1 success success', '2 running', '3 skipped overlap +1'])
    expect(desk.started).toEqual([START + MINUTE, START + 2 * MINUTE])
    expect(accountedFor(desk)).toEqual({ rows: 4, state: 4 })
  })

  test('stops the run and replaces it', () => {
    const desk = new Desk({ overlap: 'replace' }).at(START + MINUTE).at(START + 2 * MINUTE)
    expect(desk.stopped).toEqual([START + MINUTE])
    expect(desk.said()).toEqual(['1 failed cancelled', '2 running'])
    expect(desk.schedule.state.failures).toBe(0)
  })

  test('follows the same rule for manual runs', () => {
    expect(decideManual(new Desk().at(START + MINUTE).schedule, START + MINUTE + 1)).toBeNull()
    const free = decideManual(new Desk().schedule, START + 1)
    expect(free?.start).toEqual({ slot_at: START + 1, manual: true })
    expect(free?.state.slot_count).toBe(0)
  })
})

describe('failures', () => {
  test('increase the backoff, and the fifth in a row pauses the schedule', () => {
    const desk = new Desk()
    let now = START
    while (desk.schedule.status === 'active') {
      now += MINUTE
      desk.at(now).end('failed', now + 1000)
    }
    expect(desk.started.map(at => (at - START) / MINUTE)).toEqual([1, 3, 6, 11, 20])
    expect(desk.told).toEqual(['failures'])
    expect(desk.schedule.state.reason).toMatch(/5 runs failed in a row/)
    desk.take(decideResume(desk.schedule, now + 10 * MINUTE))
    expect([desk.schedule.status, desk.schedule.state.failures]).toEqual(['active', 0])
    expect(desk.due_at).toBe(START + 31 * MINUTE)
  })

  test('are reset by a success, and a cancelled run does not count as one', () => {
    const desk = new Desk().at(START + MINUTE).end('failed', START + MINUTE + 1)
    desk.at(START + 3 * MINUTE).end('cancelled', START + 3 * MINUTE + 1)
    expect(desk.schedule.state.failures).toBe(1)
    desk.at(START + 4 * MINUTE).end('success', START + 4 * MINUTE + 1)
    expect(desk.schedule.state).toMatchObject({ failures: 0, backoff_until: 0 })
  })
})

describe('a schedule ends', () => {
  test('after max_runs, once the last run has ended', () => {
    const desk = new Desk({ max_runs: 2 })
    desk
      .at(START + MINUTE)
      .end('success', START + MINUTE + 1)
      .at(START + 2 * MINUTE)
    expect([desk.schedule.status, desk.due_at]).toEqual(['active', null])
    desk.end('success', START + 2 * MINUTE + 1)
    expect(desk.schedule.status).toBe('completed')
  })

  test('at expires_at: earlier scheduled times are owed, later ones are not', () => {
    const desk = new Desk({ expires_at: START + 3 * MINUTE }).at(START + 10 * MINUTE)
    expect(desk.said()).toEqual(['2 running +1'])
    expect(desk.schedule.status).toBe('expired')
  })

  test('when cancelled or with its session; a paused session records every skipped time', () => {
    const desk = new Desk()
    desk.at(START + MINUTE, { parent: 'paused' }).at(START + 2 * MINUTE, { parent: 'paused' })
    expect(desk.said()).toEqual(['1 skipped paused +1'])
    expect(decideDue(desk.schedule, START + 3 * MINUTE, { ...AROUND, parent: 'archived' })).toMatchObject({
      status: 'cancelled',
      due_at: null,
    })
    expect(decideDue(desk.schedule, START + 3 * MINUTE, { ...AROUND, owner: 'disabled' }).status).toBe(
      'cancelled',
    )
    expect(decideCancel(desk.schedule, 'by hand')).toMatchObject({ status: 'cancelled', due_at: null })
    expect(decidePause(desk.schedule, 'by hand', START + 3 * MINUTE)).toMatchObject({
      status: 'paused',
      due_at: null,
    })
  })
})

describe('a changed, paused or resumed schedule', () => {
  const change = (desk: Desk, given: Partial<ScheduleSpec>, now: number): Desk => {
    const spec = { ...desk.schedule.spec, ...given }
    desk.take(decideChange(desk.schedule, spec, now, 'open'))
    desk.schedule = { ...desk.schedule, spec }
    return desk
  }
  const noon = { kind: 'interval', interval_s: 3600, anchor_at: START } as const

  test('keeps its position and failures as long as its timing is unchanged', () => {
    const desk = new Desk({ timing: noon, jitter_s: 600 }).at(START + HOUR + 10 * MINUTE)
    desk.end('failed', START + HOUR + 11 * MINUTE)
    const before = { ...desk.schedule.state }
    change(desk, { name: 'Other', prompt: 'look again', jitter_s: 0 }, START + 2 * HOUR + 1)
    expect(desk.schedule.state).toEqual(before)
    expect(desk.due_at).toBe(START + 2 * HOUR)
  })

  /** Promise 14.17: Changing, pausing or resuming a schedule loses no scheduled time. */
  test('accounts for scheduled times that passed and were not handled yet', () => {
    const late = START + 3 * HOUR + 1000
    const moved = change(new Desk({ timing: noon }), { timing: { ...noon, anchor_at: START + 1 } }, late)
    expect(moved.said()).toEqual(['180 running +2'])
    expect(moved.schedule.state).toMatchObject({ slot_count: 3, slot_at: START + 4 * HOUR + 1 })
    const paused = new Desk({ timing: noon, jitter_s: 3000 })
    paused.take(decidePause(paused.schedule, 'by hand', late))
    expect(paused.said()).toEqual(['60 skipped paused +2'])
    expect(accountedFor(paused)).toEqual({ rows: 3, state: 3 })
  })

  /** Promise 14.17: A schedule never returns to a scheduled time that it already handled. */
  test('never returns to a scheduled time that was handled, whatever the clock shows', () => {
    const desk = new Desk({ timing: noon }).at(START + 2 * HOUR).end('success', START + 2 * HOUR + 1)
    const back = START + 30 * MINUTE
    desk.take(decidePause(desk.schedule, 'by hand', back))
    desk.take(decideResume(desk.schedule, back))
    expect(desk.due_at).toBe(START + 3 * HOUR)
    change(desk, { timing: { ...noon, interval_s: 1800 } }, back)
    expect(desk.due_at).toBe(START + 2 * HOUR + 30 * MINUTE)
  })

  /** Promise 14.17: A schedule has at most `max_runs` runs. */
  test('has at most max_runs runs: scheduled, manual, resumed or queued', () => {
    const spent = (): Desk => new Desk({ max_runs: 1, max_failures: 1 }).at(START + MINUTE)
    const resumed = spent()
    resumed.take(decidePause(resumed.schedule, 'by hand', START + 90_000))
    resumed.take(decideResume(resumed.schedule, START + 2 * MINUTE))
    expect([resumed.schedule.status, resumed.due_at]).toEqual(['active', null])
    expect(resumed.end('success', START + 3 * MINUTE).schedule.status).toBe('completed')
    expect(change(spent(), { name: 'Other' }, START + 2 * MINUTE).due_at).toBeNull()
    const failed = spent().end('failed', START + MINUTE + 1)
    failed.take(decideResume(failed.schedule, START + 2 * MINUTE))
    expect(failed.schedule.status).toBe('completed')
    for (const overlap of ['queue', 'replace'] as const)
      expect(decideManual(change(spent(), { overlap }, START + 90_000).schedule, START + 91_000)).toBeNull()
    const lowered = new Desk({ overlap: 'queue', max_runs: 2 }).at(START + MINUTE).at(START + 2 * MINUTE)
    change(lowered, { max_runs: 1 }, START + 2 * MINUTE + 1).end('success', START + 3 * MINUTE)
    expect(lowered.said()).toEqual(['1 success success', '2 skipped cancelled'])
    expect(accountedFor(lowered)).toEqual({ rows: 2, state: 2 })
    expect(change(spent(), { max_runs: 2 }, START + 90_000).due_at).toBe(START + 2 * MINUTE)
  })

  test('starts a queued manual run although it is paused', () => {
    const desk = new Desk({ overlap: 'queue' }).at(START + MINUTE)
    desk.take(decidePause(desk.schedule, 'by hand', START + 61_000))
    const by = decideManual(desk.schedule, START + 62_000)
    if (by !== null) desk.take(by)
    desk.end('success', START + 63_000)
    expect(desk.started).toEqual([START + MINUTE, START + 62_000])
    expect(desk.schedule.status).toBe('paused')
  })
})

test('jitter is deterministic, differs between schedules and stays within its bounds', () => {
  const shifts = Array.from({ length: 500 }, (_, nth) => jitterOf(`schedule ${nth}`, { jitter_s: 600 }))
  expect(shifts).toEqual(shifts.map((_, nth) => jitterOf(`schedule ${nth}`, { jitter_s: 600 })))
  expect(Math.min(...shifts)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...shifts)).toBeLessThanOrEqual(600_000)
  expect(new Set(shifts).size).toBeGreaterThan(250)
})

/** Promise 14.17: Each scheduled time of an active schedule either starts a run or is counted as missed. */
test('every scheduled time of an active schedule is accounted for once and in order', () => {
  const step = fc.record({
    wait: fc.oneof(fc.integer({ min: 1, max: 3 * 60 }), fc.integer({ min: 1, max: 2 * 86_400 })),
    act: fc.constantFrom('look', 'look', 'look', 'success', 'failed', 'run', 'parent_paused', 'pause_resume'),
  })
  fc.assert(
    fc.property(
      fc.constantFrom('skip' as const, 'queue' as const, 'replace' as const),
      fc.constantFrom('once' as const, 'skip' as const),
      fc.constantFrom('* * * * *', '*/7 * * * *', '0 * * * *', '30 2 * * *'),
      fc.integer({ min: 0, max: 90 }),
      fc.array(step, { maxLength: 40 }),
      (overlap, missed, cron, jitter_s, steps) => {
        const timing = { kind: 'cron', cron, timezone: 'Europe/Berlin' } as const
        const desk = new Desk({ overlap, missed, jitter_s, timing, max_failures: 1000 })
        const next = nextScheduledTimeOf(timing)
        let [now, owed, from] = [START, 0, START]
        const jitter = jitterOf(desk.schedule.id, desk.schedule.spec)
        /** Counts the scheduled times from the last count until now, while it was active. */
        const count = (until = now - jitter): void => {
          for (let at = next(from); at !== null && at <= until; at = next(at)) [owed, from] = [owed + 1, at]
        }
        for (const { wait, act } of steps) {
          now += wait * 1000
          desk.at(now, act === 'parent_paused' ? { parent: 'paused' } : {})
          count()
          if (act === 'success' || act === 'failed') desk.end(act, now)
          if (act === 'run') {
            const by = decideManual(desk.schedule, now + 1)
            if (by !== null) desk.take(by)
          }
          if (act === 'pause_resume') {
            desk.take(decidePause(desk.schedule, 'by hand', now))
            // Including those within the jitter: they passed, and nothing handles them any more.
            count(now)
            now += 1000 * wait
            desk.take(decideResume(desk.schedule, now))
            from = Math.max(from, now)
          }
          expect(accountedFor(desk)).toEqual({ rows: owed, state: owed })
          const scheduled = desk.started.filter(at => desk.rows.get(at)?.manual !== true)
          expect(scheduled).toEqual([...new Set(scheduled)].toSorted((a, b) => a - b))
        }
      },
    ),
    { numRuns: rounds(60, 1_000) },
  )
})
