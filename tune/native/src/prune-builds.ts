/**
 * Builds of earlier sources are removed when a new one is made: the last few stay, and every one that was
 * used within a day, which another process may be about to load. One that is loaded already goes on working:
 * the system keeps an open file.
 */
import { readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'

export type PruneOptions = {
  cacheDir: string
  /** Milliseconds since the epoch. */ now: number
  /** Newest builds that stay whatever their age. */ keep?: number
  log?: (line: string) => void
}

const KEEP = 4
const UNUSED_MS = 24 * 60 * 60 * 1000

/** Folders of builds; demonstrations and tokenised data lie beside them under other names. */
const BUILD = /^[0-9a-f]{20}$/
const REMOVED = /^[0-9a-f]{20}\.removed-\d+$/

/** Marks what was built, a file or a folder, as used now; false where it is not there. */
export function markUsed(addon: string, now = new Date()): boolean {
  try {
    utimesSync(addon, now, now)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    // A cache that this user may only read: there is nothing to prune either.
    if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error)))
      return statSync(addon, { throwIfNoEntry: false }) !== undefined
    throw error
  }
}

/**
 * Removes builds that nothing has used for a day, but for the newest; returns their names. What cannot be
 * removed is told and stays.
 */
export function pruneBuilds({ cacheDir, now, keep = KEEP, log = () => undefined }: PruneOptions): string[] {
  const names = readdirSync(cacheDir)
  const builds = names
    .filter(name => BUILD.test(name))
    .map(name => ({ name, usedMs: lastUsed(join(cacheDir, name)) }))
  const old = builds
    .toSorted((a, b) => b.usedMs - a.usedMs)
    .slice(keep)
    .filter(({ usedMs }) => now - usedMs > UNUSED_MS)
    .map(({ name }) => name)
  // Left over from an interrupted removal.
  for (const name of names.filter(name => REMOVED.test(name))) remove(join(cacheDir, name), log)
  return old.filter(name => {
    const trash = join(cacheDir, `${name}.removed-${process.pid}`)
    try {
      // All at once: nobody finds half a build.
      renameSync(join(cacheDir, name), trash)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') log(`cannot remove ${join(cacheDir, name)}: ${String(error)}`)
      return false
    }
    return remove(trash, log)
  })
}

function remove(path: string, log: (line: string) => void): boolean {
  try {
    rmSync(path, { recursive: true, force: true })
    return true
  } catch (error) {
    log(`cannot remove ${path}: ${String(error)}`)
    return false
  }
}

/** When one of the things in a build was last asked for; of a build that is being made, when it last changed. */
function lastUsed(folder: string): number {
  const times = [folder, ...readdirSync(folder).map(name => join(folder, name))].map(
    path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  return Math.max(...times)
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')
