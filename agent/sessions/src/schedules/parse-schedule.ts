/** Validates the input of a schedule: returns its specification, or what would be valid. */
import {
  AgentConfig,
  AppError,
  type Config,
  type ScheduleChangeInput,
  type ScheduleInput,
} from '@cairn/protocol'
import type { SessionRow } from '@cairn/log'
import { parseCron } from './cron.ts'
import type { ScheduleSpec, Timing } from './schedule.ts'
import { nextScheduledTimeOf } from './scheduled-times.ts'
import { zoneName } from './zone.ts'

const MIN_INTERVAL_S = 60
const MAX_INTERVAL_S = 366 * 86_400
const DAY_MS = 86_400_000
const RFC3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:\d{2})$/

const invalid = (path: string, message: string): AppError =>
  new AppError('invalid_schedule', `${path}: ${message}.`, { extra: { errors: [{ path, message }] } })

type TimingInput = Pick<ScheduleInput, 'cron' | 'every_s' | 'at' | 'timezone'>

/** `anchor`: the start of intervals. */
export function timingOf(input: TimingInput, timezone: string, anchor: number): Timing {
  const { cron, every_s, at } = input
  const given = [cron, every_s, at].filter(each => each !== undefined).length
  if (given !== 1)
    throw invalid(
      'cron',
      `got ${given === 0 ? 'none' : 'more than one'} of cron, every_s and at: send exactly one`,
    )
  if (cron === undefined && input.timezone !== undefined) throw zoneWithoutCron()
  if (every_s !== undefined)
    return { kind: 'interval', interval_s: checkedInterval(every_s), anchor_at: anchor }
  if (at !== undefined) return { kind: 'once', at: checkedTime('at', at, anchor) }
  const asked = input.timezone ?? timezone
  const zone = zoneName(asked)
  if (zone === null)
    throw invalid(
      'timezone',
      `unknown time zone ${JSON.stringify(asked)}: must be an IANA time zone such as ` +
        'Europe/Berlin, or UTC',
    )
  const parsed = parseCron(cron ?? '')
  if ('problem' in parsed) throw invalid('cron', parsed.problem)
  return { kind: 'cron', cron: (cron ?? '').trim(), timezone: zone }
}

const zoneWithoutCron = (): AppError =>
  invalid('timezone', 'applies to cron only: every_s counts seconds, and at has its own offset')

function checkedInterval(every_s: number): number {
  if (every_s < MIN_INTERVAL_S)
    throw invalid('every_s', `${every_s} s is too short: must be at least ${MIN_INTERVAL_S} s`)
  if (every_s > MAX_INTERVAL_S)
    throw invalid('every_s', `${every_s} s is too long: must be at most ${MAX_INTERVAL_S} s`)
  return every_s
}

function checkedTime(path: string, text: string, now: number): number {
  const at = RFC3339.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw invalid(
      path,
      `invalid time ${JSON.stringify(text)}: must have an offset, such as 2026-03-29T02:30:00+02:00`,
    )
  if (at <= now)
    throw invalid(
      path,
      `${new Date(at).toISOString()} is in the past: it is now ${new Date(now).toISOString()}`,
    )
  return at
}

export type SpecContext = {
  session: SessionRow
  config: Config
  now: number
  /** Set if an agent or a command created it: it ends by itself after some days. */
  expires: boolean
}

/** `kept`: times that were validated when they were requested; that of a single run may have passed. */
export function specOf(
  input: ScheduleInput,
  { session, config, now, expires }: SpecContext,
  kept?: Timing,
): ScheduleSpec {
  const limits = config.schedules
  const timing = kept ?? timingOf(input, limits.timezone, now)
  const expires_at =
    input.expires_at === undefined
      ? expires
        ? now + limits.expires_days * DAY_MS
        : null
      : checkedTime('expires_at', input.expires_at, now)
  const first = nextScheduledTimeOf(timing)(now)
  if (first === null ? kept === undefined : expires_at !== null && first >= expires_at)
    throw invalid(
      'expires_at',
      first === null
        ? 'the schedule has no future run'
        : `the end ${new Date(expires_at!).toISOString()} is before the first run, ` +
            `${new Date(first).toISOString()}`,
    )
  const jitter_s = input.jitter_s ?? 0
  if (timing.kind === 'interval' && jitter_s >= timing.interval_s)
    throw invalid('jitter_s', `must be less than the interval of ${timing.interval_s} s`)
  return {
    name: input.name ?? null,
    prompt: input.prompt,
    timing,
    missed: input.missed ?? 'once',
    catch_up_s: input.catch_up_s ?? 86_400,
    overlap: input.overlap ?? 'skip',
    jitter_s,
    max_runs: input.max_runs ?? null,
    expires_at,
    on_result: input.on_result ?? 'note',
    late_s: limits.late_s,
    max_failures: limits.max_failures,
    run: runOf(session, config),
  }
}

/** Runs have the limits of workers, by the agent of their session. */
function runOf({ agent, config: own }: SessionRow, config: Config): ScheduleSpec['run'] {
  const { workers } = config.agents[agent] ?? AgentConfig.parse({})
  const { max_tokens, max_cost_usd, max_minutes } = workers.budget
  const model = own['model']
  return {
    agent,
    ...(typeof model === 'string' ? { model } : {}),
    max_iterations: workers.max_iterations,
    keep_s: config.schedules.keep_runs_days * (DAY_MS / 1000),
    budget: {
      ...(max_tokens === null ? {} : { max_tokens }),
      ...(max_cost_usd === null ? {} : { max_cost_usd }),
      ...(max_minutes === null ? {} : { max_minutes }),
    },
  }
}

/** Applies changes to a schedule and validates the result as a whole. */
export function changedSpec(
  spec: ScheduleSpec,
  given: ScheduleChangeInput,
  context: SpecContext,
): ScheduleSpec {
  const { timing } = spec
  const change = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Partial<ScheduleInput>
  const isTimed = change.cron !== undefined || change.every_s !== undefined || change.at !== undefined
  // The grid of an interval is kept, unless another one is requested.
  const kept = isTimed || timing.kind === 'cron' ? undefined : timing
  if (kept !== undefined && change.timezone !== undefined) throw zoneWithoutCron()
  const { name, prompt, missed, catch_up_s, overlap, jitter_s, max_runs, on_result } = spec
  const changed = specOf(
    {
      prompt,
      missed,
      catch_up_s,
      overlap,
      jitter_s,
      on_result,
      ...(name === null ? {} : { name }),
      ...(max_runs === null ? {} : { max_runs }),
      ...(spec.expires_at === null ? {} : { expires_at: new Date(spec.expires_at).toISOString() }),
      ...(isTimed || timing.kind !== 'cron' ? {} : { cron: timing.cron, timezone: timing.timezone }),
      ...change,
    },
    { ...context, expires: false },
    kept,
  )
  return { ...changed, run: spec.run }
}
