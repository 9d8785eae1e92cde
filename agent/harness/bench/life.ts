/**
 * Sessions of a thousand, a hundred thousand and a million events: what the first wake after a restart takes,
 * and a turn. First of a session that nobody kept a snapshot of, whose log is read from its start, then after
 * more restarts from the snapshot that this left: medians of five, and the most memory of any.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createSession } from '@cairn/sessions'
import { newId, openJobStore, owner, type WakeJob, type WakeReport } from './life-job.ts'
import { liveLong } from './long-life.ts'

export type LifeRow = { events: number; began: 'log' | 'snapshot' } & Omit<WakeReport, 'turns_ms'> & {
    turn_p50_ms: number
  }

const LIVES = [1_000, 100_000, 1_000_000]
const TURNS = 30
/** One wake is one figure, and a neighbour may stand in its way. */
const RESTARTS = 5
const TOO_LONG_MS = 240_000

export async function benchLife(
  directory: string,
  { database, lives = LIVES }: { database?: string; lives?: readonly number[] } = {},
): Promise<LifeRow[]> {
  const rows: LifeRow[] = []
  for (const events of lives) {
    const dir = await mkdtemp(join(directory, 'cairn-bench-'))
    const place = { dir, ...(database === undefined ? {} : { database }) }
    try {
      const session_id = await live(place, events)
      const job = { ...place, session_id, turns: TURNS }
      rows.push({ events, began: 'log', ...sumUp([await wake(job)]) })
      const reports: WakeReport[] = []
      while (reports.length < RESTARTS) reports.push(await wake(job))
      rows.push({ events, began: 'snapshot', ...sumUp(reports) })
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  }
  return rows
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Medians over restarts, and the most memory of any. */
const sumUp = (reports: readonly WakeReport[]): Omit<LifeRow, 'events' | 'began'> => ({
  wake_ms: median(reports.map(({ wake_ms }) => wake_ms)),
  more_mb: Math.max(...reports.map(({ more_mb }) => more_mb)),
  turn_p50_ms: median(reports.map(({ turns_ms }) => median(turns_ms))),
  snapshot: Math.max(...reports.map(({ snapshot }) => snapshot)),
})

async function live(place: Pick<WakeJob, 'dir' | 'database'>, events: number): Promise<string> {
  const store = await openJobStore(place)
  const deps = { store, now: Date.now, newId }
  const { id } = await createSession(deps, ['assistant'], { principal: owner, title: 'A long life' })
  await liveLong(store, id, events)
  await store.close()
  return id
}

async function wake(job: WakeJob): Promise<WakeReport> {
  const child = fork(fileURLToPath(new URL('life-resume.ts', import.meta.url)), {
    execArgv: ['--expose-gc', '--max-semi-space-size=32'],
  })
  const gone = new AbortController()
  child.once('exit', () => gone.abort(new Error('[bench] the process of a wake ended before its time')))
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(TOO_LONG_MS)])
  const answer = once(child, 'message', { signal })
  child.send(job)
  const [report] = (await answer) as [WakeReport]
  if (child.exitCode === null) await once(child, 'exit')
  return report
}
