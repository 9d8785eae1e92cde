/** Builds in the user's cache. One of several processes builds while the others wait. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { markUsed, pruneBuilds } from './prune-builds.ts'

const lockPollMs = 100

export type BuildOnce = {
  /** The result; its folder is the build. */ path: string
  cacheDir: string
  log: (line: string) => void
  /** Builds the result and renames it into place at the end. */ make: () => Promise<void>
}

/** The default folder of builds. */
export function defaultCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-tune')
}

/** Builds the result unless it exists; returns its path. Other processes wait for it. */
export async function buildOnce({ path, cacheDir, log, make }: BuildOnce): Promise<string> {
  let polls = 0
  while (!markUsed(path)) {
    makeFolder(dirname(path))
    const unlock = takeLock(`${path}.lock`)
    if (!unlock) {
      // On the first attempt the lock may be a leftover of a dead process.
      if (++polls === 2) log('waiting for another process that is compiling the same files')
      await delay(lockPollMs)
      continue
    }
    try {
      if (!existsSync(path)) {
        await make()
        pruneBuilds({ cacheDir, now: Date.now(), log })
      }
    } finally {
      unlock()
    }
  }
  return path
}

/**
 * Creates a folder and its parents one by one. Node's recursive mkdir never returns if the system reports
 * ENOENT for a new folder in an existing one, as in /proc.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makeFolder(above)
  try {
    mkdirSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return
    throw new Error(
      `cannot create the folder of compiled kernels, ${path} (${code}); ` +
        'set XDG_CACHE_HOME to a writable folder',
      { cause: error },
    )
  }
}

/**
 * Takes the lock and returns a function that releases it. Undefined while another living process holds it.
 */
function takeLock(path: string): (() => void) | undefined {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!isHeld(path)) rmSync(path, { force: true })
    return undefined
  }
  return () => rmSync(path, { force: true })
}

// A killed builder leaves its lock. An unreadable lock is just being written.
function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'))
    if (pid > 0) process.kill(pid, 0)
    return true
  } catch (error) {
    // ENOENT: just released. ESRCH: its process has ended.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
