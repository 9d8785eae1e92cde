/** Builds in the user's cache: made once, by one of several processes that want them, while the others wait. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { markUsed, pruneBuilds } from './prune-builds.ts'

const lockPollMs = 100

export type BuildOnce = {
  /** What is built; the folder around it is the build. */ path: string
  cacheDir: string
  log: (line: string) => void
  /** Makes it, by a rename at its end. */ make: () => Promise<void>
}

/** Where builds are kept. */
export function defaultCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  return join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cairn-tune')
}

/** Builds what is not there yet while others wait for it; returns its path. */
export async function buildOnce({ path, cacheDir, log, make }: BuildOnce): Promise<string> {
  let polls = 0
  while (!markUsed(path)) {
    makeFolder(dirname(path))
    const unlock = takeLock(`${path}.lock`)
    if (!unlock) {
      // The first time the lock may be one that a dead process left.
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
 * Makes a folder and those above it, each by itself: Node's recursive mkdir goes on for ever where the system
 * says of a new folder below one that is there that there is no such place, as it does in /proc.
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

/** Takes the lock and returns how to give it back, or undefined while another living process has it. */
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

// A builder that was killed leaves its lock; an unreadable one is being written this moment.
function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'))
    if (pid > 0) process.kill(pid, 0)
    return true
  } catch (error) {
    // ENOENT: given back this moment. ESRCH: its process is gone.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
