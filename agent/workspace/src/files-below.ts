/**
 * Iterates over all files below an open folder with blocking calls, so it needs a thread of its own. Folders
 * are opened in their parents and symbolic links are not followed.
 */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { addressing, descriptorPath, FILE_FLAGS, FOLDER_FLAGS } from './addressing.ts'
import { changed, errorCode } from './path-problem.ts'

/** An open folder, as returned by `Directory.place`; it stays open while the thread runs. */
export type OpenFolder = { fd: number; path: string }

/** Maximum depth: each level holds a file descriptor. */
const MAX_DEPTH = 64

/**
 * The prefix that reaches the folder's names. If it is a path, checks that the path still leads to the
 * folder.
 */
function prefixOf({ fd, path }: OpenFolder): string {
  if (addressing === 'descriptor') return descriptorPath(fd)
  const [now, own] = [statSync(path), fstatSync(fd)]
  if (realpathSync(path) !== path || now.ino !== own.ino || now.dev !== own.dev) throw changed()
  return path
}

/**
 * The bytes of a regular file; null for anything else and above `most` bytes. Throws if it cannot be opened.
 */
export function readFileIn(place: OpenFolder, name: string, most: number): Buffer | null {
  const file = openSync(`${prefixOf(place)}/${name}`, constants.O_RDONLY | FILE_FLAGS)
  try {
    prefixOf(place)
    const stats = fstatSync(file)
    const { size } = stats
    if (!stats.isFile() || size > most) return null
    const bytes = Buffer.allocUnsafe(size)
    let length = 0
    while (length < size) {
      const read = readSync(file, bytes, length, size - length, null)
      if (read === 0) break
      length += read
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

export type FoundFile = { /** Relative to the start. */ path: string; folder: OpenFolder; name: string }

/**
 * Files of a folder before those of its subfolders, each sorted by name. Folders in `closed` are not entered;
 * `leaveOut` receives the folders that vanished, are not readable, or lie too deep.
 */
export function* filesBelow(
  folder: OpenFolder,
  closed: ReadonlySet<string>,
  leaveOut: () => void,
  path = '',
  depth = 1,
): Generator<FoundFile> {
  const entries = listOr(folder, leaveOut).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) if (entry.isFile()) yield { path: path + entry.name, folder, name: entry.name }
  for (const { name } of entries.filter(entry => entry.isDirectory() && !closed.has(entry.name))) {
    const inner = depth === MAX_DEPTH ? null : openOr(folder, name)
    if (inner === null) {
      leaveOut()
      continue
    }
    try {
      yield* filesBelow(inner, closed, leaveOut, `${path}${name}/`, depth + 1)
    } finally {
      closeSync(inner.fd)
    }
  }
}

const GONE: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES']

function openOr(folder: OpenFolder, name: string): OpenFolder | null {
  try {
    return {
      fd: openSync(`${prefixOf(folder)}/${name}`, FOLDER_FLAGS),
      path: join(folder.path, name),
    }
  } catch (error) {
    if (!GONE.includes(errorCode(error) ?? '')) throw error
    return null
  }
}

function listOr(folder: OpenFolder, leaveOut: () => void): Dirent[] {
  try {
    return readdirSync(prefixOf(folder), { withFileTypes: true })
  } catch (error) {
    if (!GONE.includes(errorCode(error) ?? '')) throw error
    leaveOut()
    return []
  }
}
