/**
 * `npm run rehearse:upgrade`: upgrades from an earlier program to this tree, and back, under load, then on
 * the embedded store, and prints one table. See docs/guides/upgrade.md.
 *
 *   --from COMMIT|TARBALL  the previous program; default: the newest release, else the commit before the
 *                          newest migration
 *   --sessions 64          sessions under load
 *   --rounds 1             rounds of three rolls each: forward, back, forward
 *   --kills 6              processes killed in each roll
 *   --seed N               repeats the choices, not the timing
 *   --only PART            rolls, restart (a round with a restart of the database), embedded or suite
 *
 * If both programs have the same schema, the new one gets a test migration and another fold, so that the
 * rehearsal crosses a real change.
 */
import { existsSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { seeded } from '../../agent/app/e2e/seeded.ts'
import { MAX_P99_MS } from './acknowledgements.ts'
import { rehearseEmbedded } from './embedded.ts'
import {
  defaultFrom,
  laterRelease,
  makeFolders,
  ownRelease,
  previousRelease,
  type Release,
} from './packages.ts'
import { rehearseRolls, type RollResult } from './rolls.ts'
import { runPreviousSuite } from './suite.ts'

const PARTS = ['rolls', 'restart', 'embedded', 'suite'] as const
/** Lines of slow acknowledgements that are printed. */
const MAX_SLOW_LINES = 20

const { values } = parseArgs({
  options: {
    from: { type: 'string' },
    sessions: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '1' },
    kills: { type: 'string', default: '6' },
    seed: { type: 'string' },
    only: { type: 'string', multiple: true, default: [...PARTS] },
  },
})

function wholeNumber(name: 'sessions' | 'rounds' | 'kills' | 'seed', text: string, min: number): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < min)
    throw new Error(`Invalid --${name} ${text}: must be a whole number of at least ${min}`)
  return number
}
const sessions = wholeNumber('sessions', values.sessions, 1)
const rounds = wholeNumber('rounds', values.rounds, 1)
const kills = wholeNumber('kills', values.kills, 0)
const seed = wholeNumber('seed', values.seed ?? String(Math.floor(Math.random() * 2 ** 31)), 0)
const unknown = values.only.find(part => !(PARTS as readonly string[]).includes(part))
if (unknown !== undefined) throw new Error(`Unknown part "${unknown}": must be one of ${PARTS.join(', ')}`)
const does = (part: (typeof PARTS)[number]): boolean => values.only.includes(part)

type Row = { name: string; verdict: 'ok' | 'FAILED' | 'not run' | ''; detail: string }
const rows: Row[] = []
const problems: string[] = []
const row = (name: string, isOk: boolean | null, detail: string): void =>
  void rows.push({ name, verdict: isOk === null ? '' : isOk ? 'ok' : 'FAILED', detail })
const progress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
const folders = makeFolders()
progress('building this tree')
const own = await ownRelease(folders)
const from = values.from ?? defaultFrom()
progress(`preparing ${from}`)
const previous = previousRelease(from, folders)
const isSameSchema =
  previous.schema.sqlite === own.schema.sqlite && previous.schema.postgres === own.schema.postgres
const next = isSameSchema && previous.mayRunOnNewer ? laterRelease(own, folders) : own
const removing = next.mayRunOnNewer ? laterRelease(next, folders, { removes: true }) : null

const schemaText = ({ schema }: Release): string => `schema ${schema.sqlite} and ${schema.postgres}`
row('previous', null, `${previous.name}, ${schemaText(previous)}`)
row('new', null, `${next.name}, ${schemaText(next)}`)
row('load', null, `${sessions} sessions, ${kills} kills in each roll, seed ${seed}`)

function reportRound(name: string, result: RollResult): void {
  const { counts, acknowledged } = result
  const title = (what: string): string => `${name}: ${what}`
  row(
    title('work'),
    null,
    `${counts.messages_acknowledged} messages, ${counts.turns} turns, ${result.approvals} approvals, ` +
      `${counts.commands_run} commands, ${counts.streams} streams, ${counts.events} events`,
  )
  row(
    title('faults'),
    null,
    `${result.kills.api} api and ${result.kills.worker} worker processes killed, ${counts.recovered} ` +
      `recoveries, ${counts.unknown_outcomes} unknown outcomes, ${counts.retries} requests repeated`,
  )
  row(title('rolls'), result.rolls_s.length === 3, `${result.rolls_s.join(', ')} s`)
  row(
    title('turns lost'),
    result.lost_turns === 0 && counts.given_up === 0,
    `${result.lost_turns}, given up ${counts.given_up}`,
  )
  row(title('calls repeated'), result.repeated_calls === 0, String(result.repeated_calls))
  row(
    title('gaps of streams'),
    result.stream_gaps === 0,
    `${result.stream_gaps} in ${counts.events_shown} events`,
  )
  row(title('internal errors'), result.internal_errors === 0, String(result.internal_errors))
  row(
    title('acknowledgement'),
    acknowledged.p99 <= MAX_P99_MS,
    `p50 ${acknowledged.p50} ms, p99 ${acknowledged.p99} ms of at most ${MAX_P99_MS} ms, max ` +
      `${acknowledged.max} ms, ${acknowledged.count} messages during the rolls`,
  )
  row(
    title('slow acknowledgements'),
    null,
    `${result.slow.length} over ${MAX_P99_MS} ms; ms by cause: ` +
      (Object.entries(result.causes)
        .map(([cause, ms]) => `${cause} ${ms}`)
        .join(', ') || 'none'),
  )
  for (const line of result.slow.slice(0, MAX_SLOW_LINES)) progress(line)
  row(title('machine'), null, result.cpu)
  const { folds, longFolds } = result
  row(
    title('refolds'),
    folds.mostInOneWake <= 1,
    `${folds.refolds} in ${folds.wakes} wakes, ${folds.snapshots} snapshots; at most ` +
      `${folds.mostInOneWake} in one wake`,
  )
  row(
    title('refolds of long logs'),
    longFolds.sessions > 0 && longFolds.shortest > 1000 && longFolds.refolds > 0,
    `${longFolds.sessions} sessions of at least ${longFolds.shortest} events: ${longFolds.refolds} in ` +
      `${longFolds.wakes} wakes, ${longFolds.snapshots} snapshots, at most ${longFolds.mostInOneWake} in one wake`,
  )
  row(
    title('other problems'),
    result.problems.length === 0,
    result.problems.length === 0 ? '0' : String(result.problems.length),
  )
  if (existsSync(result.dir)) row(title('logs'), null, result.dir)
  problems.push(...result.problems)
}

// The processes of the rehearsal end when this one exits, which a signal alone would not let it do.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const random = seeded(seed)
const options = { previous, next, sessions, kills, random, progress }
for (let round = 1; does('rolls') && round <= rounds; round += 1) {
  progress(`round ${round}`)
  reportRound(`round ${round}`, await rehearseRolls({ ...options, restart: false }))
}
if (does('restart')) {
  progress('round with a restart of the database')
  reportRound('with a restart', await rehearseRolls({ ...options, restart: true }))
}
if (does('embedded')) {
  progress('the embedded store')
  for (const { name, detail, failed } of await rehearseEmbedded(previous, next, removing))
    row(`embedded: ${name}`, !failed, detail)
}
if (does('suite')) {
  progress('the conformance suite of the previous program')
  const { verdict, detail } = runPreviousSuite(previous, next)
  rows.push({ name: 'previous suite on the new schema', verdict, detail })
}
row(
  'load of the machine',
  null,
  loadavg()
    .map(load => load.toFixed(1))
    .join(', '),
)

const width = Math.max(...rows.map(({ name }) => name.length))
for (const { name, verdict, detail } of rows)
  console.log(`${name.padEnd(width)}  ${verdict.padEnd(7)}  ${detail}`)
for (const problem of problems.slice(0, 20)) console.log(problem)
// A failed round may have left processes, which end with this one.
process.exit(rows.some(({ verdict }) => verdict === 'FAILED') ? 1 : 0)
