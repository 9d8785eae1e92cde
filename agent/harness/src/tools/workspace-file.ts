/**
 * Opening, reading and replacing files of a workspace without being led astray between the check and the act.
 */
import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { asError } from '@cairn/protocol'
import { unlessMissing } from './missing-file.ts'
import { type PathIntent, resolvePath } from './workspace-path.ts'

/** The largest file that is read whole into memory. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024

/** Resolves a path argument or throws with the sentence that says what is wrong with it. */
export async function mustResolve(
  workspace: string,
  given: string,
  intent: PathIntent,
): Promise<{ path: string; shown: string }> {
  const resolved = await resolvePath(workspace, given, intent)
  if (!resolved.ok) throw new Error(resolved.problem)
  return resolved
}

/**
 * Opens an existing file for reading, links not followed, and makes sure that what was opened is what was
 * resolved.
 */
async function openInside(workspace: string, path: string): Promise<{ handle: FileHandle; stats: Stats }> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    const now = await resolvePath(workspace, path, 'read')
    const same = now.ok ? await lstat(now.path) : null
    if (same === null || same.ino !== stats.ino || same.dev !== stats.dev)
      throw new Error('the path changed while it was being opened')
    return { handle, stats }
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

/**
 * The text of a file. Refuses folders, devices, binary content and files beyond MAX_FILE_BYTES, each with its
 * reason.
 */
export async function readText(workspace: string, path: string, shown: string): Promise<string> {
  const { handle, stats } = await openInside(workspace, path).catch((thrown: unknown) => {
    const error = asError(thrown) as NodeJS.ErrnoException
    throw error.code === 'ENOENT' ? new Error(`no file '${shown}' in the workspace`, { cause: error }) : error
  })
  try {
    if (stats.isDirectory()) throw new Error(`'${shown}' is a folder; list_files shows what is in it`)
    if (!stats.isFile()) throw new Error(`'${shown}' is not a regular file`)
    if (stats.size > MAX_FILE_BYTES)
      throw new Error(
        `'${shown}' has ${stats.size} bytes, more than the ${MAX_FILE_BYTES} that are read whole; use search_files, or the terminal for a part of it`,
      )
    const bytes = await handle.readFile()
    if (bytes.subarray(0, 8192).includes(0))
      throw new Error(`'${shown}' is a binary file (${stats.size} bytes)`)
    return bytes.toString('utf8')
  } finally {
    await handle.close()
  }
}

/**
 * Replaces or creates a file whole: written beside its place and renamed over it, so that a crash leaves the
 * old or the new one, and a link put in its place meanwhile is replaced instead of followed.
 */
export async function replaceFile(
  workspace: string,
  path: string,
  content: string | Uint8Array,
  mode?: number,
): Promise<{ created: boolean }> {
  const before = await unlessMissing(stat(path))
  if (before !== null && !before.isFile())
    throw new Error(`'${basename(path)}' exists and is not a regular file`)
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  if ((await realpath(folder)) !== folder || !(await resolvePath(workspace, folder, 'read')).ok)
    throw new Error('the folder changed while the file was being written')
  const temporary = join(folder, `.${basename(path).slice(0, 100)}.${randomUUID()}`)
  const handle = await open(
    temporary,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode ?? (before === null ? 0o644 : before.mode & 0o777),
  )
  try {
    try {
      await handle.writeFile(content)
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (thrown) {
    await rm(temporary, { force: true })
    throw thrown
  }
  return { created: before === null }
}
