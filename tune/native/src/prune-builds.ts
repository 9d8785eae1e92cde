/**
 * Removes old builds when a new one is made. The newest few stay, and so does each that was used within a
 * day, because another process may be about to load it. A build that is already loaded keeps working: the
 * system keeps open files.
 */
import { readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'

export type PruneOptions = {
  cacheDir: string
  /** Milliseconds since the epoch. */ now: number
  /** Number of newest builds that stay at any age. */ keep?: number
  log?: (line: string) => void
}

const KEEP = 4
const UNUSED_MS = 24 * 60 * 60 * 1000

/** Folders of builds. Demonstrations and tokenised data are beside them under other names. */
const BUILD = /^[0-9a-f]{20}$/
const REMOVED = /^[0-9a-f]{20}\.removed-\d+$/

/** Marks a build's file or folder as used now. False if it does not exist. */
export function markUsed(addon: string, now = new Date()): boolean {
  try {
    utimesSync(addon, now, now)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    // The cache is read-only for this user, so there is nothing to prune either.
    if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error)))
      return statSync(addon, { throwIfNoEntry: false }) !== undefined
    throw error
  }
}

/**
 * Removes builds unused for a day, except the newest; returns their names. Builds that cannot be removed are
 * logged and stay.
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
      // Rename first, so that no reader finds half a build.
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

/** Time when something in a build was last used. For a build in progress, time of the last change. */
function lastUsed(folder: string): number {
  const times = [folder, ...readdirSync(folder).map(name => join(folder, name))].map(
    path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  return Math.max(...times)
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')
