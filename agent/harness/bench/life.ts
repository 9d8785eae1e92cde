/**
 * Sessions of a thousand, a hundred thousand and a million events: what the first wake after a restart takes,
 * and a turn. First of a session that nobody kept a snapshot of, whose log is read from its start, then after
 * one more restart from the snapshot that this left.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openSqliteStore } from '@cairn/log'
import { createSession } from '@cairn/sessions'
import { newId, owner, type WakeJob, type WakeReport } from './life-job.ts'
import { liveLong } from './long-life.ts'

export type LifeRow = { events: number; began: 'log' | 'snapshot' } & Omit<WakeReport, 'turns_ms'> & {
    turn_p50_ms: number
  }

const LIVES = [1_000, 100_000, 1_000_000]
const TURNS = 60
const TOO_LONG_MS = 240_000

export async function benchLife(directory: string): Promise<LifeRow[]> {
  const rows: LifeRow[] = []
  for (const events of LIVES) {
    const dir = await mkdtemp(join(directory, 'cairn-bench-'))
    try {
      const session_id = await live(dir, events)
      for (const began of ['log', 'snapshot'] as const) {
        const { turns_ms, ...report } = await wake({ dir, session_id, turns: TURNS })
        const median = turns_ms.toSorted((a, b) => a - b)[TURNS / 2] ?? Number.NaN
        rows.push({ events, began, ...report, turn_p50_ms: median })
      }
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  }
  return rows
}

async function live(dir: string, events: number): Promise<string> {
  const store = await openSqliteStore({ dir: join(dir, 'log') })
  const deps = { store, now: Date.now, newId }
  const { id } = await createSession(deps, ['assistant'], { principal: owner, title: 'A long life' })
  await liveLong(store, id, events)
  await store.close()
  return id
}

async function wake(job: WakeJob): Promise<WakeReport> {
  const child = fork(fileURLToPath(new URL('life-wake.ts', import.meta.url)), {
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
