/** cairn schedules: lists, creates, pauses, runs and ends schedules. */
import { plural, type ScheduleInput, type ScheduleRunView, type ScheduleView } from '@cairn/protocol'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'
import { CONNECT_OPTIONS, connect } from './connect.ts'
import { jsonLine, oneLine } from './terminal-text.ts'
import { TIME_WIDTH, terminalTime } from './terminal-time.ts'

const ACTIONS = {
  pause: 'pauseSchedule',
  resume: 'resumeSchedule',
  run: 'runSchedule',
  cancel: 'cancelSchedule',
} as const

export const schedules = defineCommand({
  name: 'schedules',
  summary: 'List schedules; create, pause, resume, run or cancel one',
  usage: [
    ['schedules', 'list all schedules that you can see, newest first: ID, status, time, runs'],
    ['schedules add SESSION PROMPT', 'create a schedule; give one of --cron, --every and --at'],
    ['  --cron "0 9 * * 1-5"', 'cron expression with five fields; --zone Europe/Berlin sets its time zone'],
    ['  --every SECONDS', 'interval, at least 60'],
    ['  --at TIME', 'run once, at an RFC 3339 time with an offset'],
    ['  --max-runs N', 'end after this number of runs'],
    ['schedules runs ID', 'list its runs and their results'],
    ['schedules pause|resume|run|cancel ID', 'change a schedule, or run it now'],
    ['  --json', 'full records'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    cron: { type: 'string' },
    zone: { type: 'string' },
    every: { type: 'string' },
    at: { type: 'string' },
    'max-runs': { type: 'string' },
  },
  async run({ values, positionals }, io) {
    const [action, ...rest] = positionals
    const { client } = connect(values, io)
    const show = (found: readonly ScheduleView[], one: boolean): void =>
      io.out(values.json ? jsonLine(one ? found[0] : found) : found.map(line).join(''))
    if (action === undefined) {
      const found: ScheduleView[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await client.call('listSchedules', { query: { limit: 200, cursor }, signal: io.signal })
        found.push(...page.schedules)
        cursor = page.next_cursor
      }
      show(found, false)
      if (found.length === 0) io.note('No schedules.')
      return EXIT.ok.code
    }
    if (action === 'add') {
      const [session_id, prompt] = takePositionals(rest, ['session ID', 'prompt'])
      const body = { session_id, prompt, ...timesOf(values) }
      show([await client.call('createSchedule', { body, signal: io.signal })], true)
      return EXIT.ok.code
    }
    const [schedule_id] = takePositionals(rest, ['schedule ID'])
    const params = { schedule_id }
    if (action === 'runs') {
      const { runs } = await client.call('listScheduleRuns', {
        params,
        query: { limit: 200 },
        signal: io.signal,
      })
      io.out(values.json ? jsonLine(runs) : runs.map(runLine).join(''))
      return EXIT.ok.code
    }
    if (!Object.hasOwn(ACTIONS, action))
      throw new UsageError(
        `Unknown action "schedules ${action}": must be add, runs, ${Object.keys(ACTIONS).join(', ')}`,
      )
    await client.call(ACTIONS[action as keyof typeof ACTIONS], { params, signal: io.signal })
    show([await client.call('getSchedule', { params, signal: io.signal })], true)
    return EXIT.ok.code
  },
})

type Values = {
  cron?: string | undefined
  zone?: string | undefined
  every?: string | undefined
  at?: string | undefined
  'max-runs'?: string | undefined
}

function timesOf({ cron, zone, every, at, 'max-runs': most }: Values): Partial<ScheduleInput> {
  return {
    ...(cron === undefined ? {} : { cron }),
    ...(zone === undefined ? {} : { timezone: zone }),
    ...(every === undefined ? {} : { every_s: wholeOf('--every', every) }),
    ...(at === undefined ? {} : { at }),
    ...(most === undefined ? {} : { max_runs: wholeOf('--max-runs', most) }),
  }
}

function wholeOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`Invalid ${name} "${text}": must be a whole number`)
  return Number(text)
}

const timeOrBlank = (iso: string | null | undefined): string => (iso ? terminalTime(iso) : '')

const line = (schedule: ScheduleView): string => {
  const { id, status, cron, every_s, at, timezone, run_count, next, name, prompt } = schedule
  const when =
    cron !== null
      ? `${cron} ${timezone}`
      : every_s !== null
        ? `every ${every_s} s`
        : `once, ${timeOrBlank(at)}`
  return (
    `${id}  ${status.padEnd(9)}  ${when.padEnd(30)}  ${plural(run_count, 'run').padStart(9)}  ` +
    `${timeOrBlank(next[0]).padEnd(TIME_WIDTH)}  ${oneLine(name ?? prompt, 60)}\n`
  )
}

const runLine = ({ slot_at, status, reason, collapsed, run_session_id }: ScheduleRunView): string =>
  `${terminalTime(slot_at).padEnd(TIME_WIDTH)}  ${status.padEnd(8)}  ${(reason ?? '').padEnd(16)}  ` +
  `${collapsed === 0 ? '' : `+${collapsed}`}  ${run_session_id ?? ''}\n`
