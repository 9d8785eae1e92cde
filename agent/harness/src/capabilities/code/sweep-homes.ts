/**
 * What a run keeps between its processes is in a folder of its session and run, removed at the end of the
 * run. A crashed runner leaves it behind; each runner that starts removes those of runs that are done or not
 * in the log. A folder is never created before its run.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogStore } from '@cairn/log'
import { asError } from '@cairn/protocol'
import type { Logger } from '@cairn/models/logger'

/** Maximum runs read per session; an unfinished one is among the newest. */
const LOOKED_AT = 20

type HomesOf = { dataDir: string; runs: Pick<LogStore['codeRuns'], 'list'>; logger: Logger }

export const homesIn = (dataDir: string): string => join(dataDir, 'code')
export const homeOf = (dataDir: string, session_id: string, run_id: string): string =>
  join(homesIn(dataDir), `${session_id}.${run_id}`)

/** Returns how many were removed. Never rejects. */
export async function sweepHomes({ dataDir, runs, logger }: HomesOf): Promise<number> {
  let removed = 0
  const names = await listHomes(homesIn(dataDir), logger)
  for (const name of names) {
    const [session_id = '', run_id] = name.split('.')
    // Not a folder of a run.
    if (run_id === undefined) continue
    try {
      const known = await runs.list(session_id, LOOKED_AT)
      if (known.some(run => run.run_id === run_id && run.state !== 'done')) continue
      await rm(join(homesIn(dataDir), name), { recursive: true, force: true })
      removed += 1
    } catch (error) {
      logger('warn', 'failed to remove the files of a coding agent', {
        run_id,
        error: asError(error).message,
      })
    }
  }
  return removed
}

/** Empty if no run has created the folder yet. */
async function listHomes(folder: string, logger: Logger): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (thrown) {
    const error = asError(thrown)
    if (!('code' in error && error.code === 'ENOENT'))
      logger('warn', 'failed to list the files of coding agents', { error: error.message })
    return []
  }
}
