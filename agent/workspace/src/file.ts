/** Reads, replaces and removes files that `locate` found, through the folder that it holds open. */
import { randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import type { Directory } from './directory.ts'
import type { Located } from './locate.ts'
import { changed, errorCode, PathProblem } from './path-problem.ts'
import { workspaceUmask } from './umask.ts'

/** Maximum size of a file that is read whole into memory. */
export const MAX_FILE_BYTES = 20 * 1024 * 1024

/** Error codes that mean that the entry changed since it was located. */
const CHANGED: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO']

/** An open regular file. Anything else is a PathProblem. */
export type OpenFile = AsyncDisposable & {
  stats: Stats
  /** Reads up to `most` bytes from the start; a file that keeps growing would otherwise never end. */
  read(most: number): Promise<Buffer>
}

async function readAtMost(handle: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  let length = 0
  while (length < bytes) {
    const { bytesRead } = await handle.read(buffer, length, bytes - length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

export async function openFile({ folder, name, stats, shown }: Located): Promise<OpenFile> {
  if (stats === null) throw new PathProblem(`file '${shown}' not found in the workspace`)
  if (name === null || stats.isDirectory())
    throw new PathProblem(`'${shown}' is a folder; use list_files to list it`)
  // Checked before opening: opening a device can have side effects.
  if (!stats.isFile()) throw new PathProblem(`'${shown}' is not a regular file`)
  const handle = await folder.openFile(name, constants.O_RDONLY).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT')
      throw new PathProblem(`file '${shown}' not found in the workspace`, { cause: error })
    if (errorCode(error) === 'EACCES')
      throw new PathProblem(`no permission to read '${shown}'`, { cause: error })
    if (CHANGED.includes(errorCode(error) ?? ''))
      throw new PathProblem(`'${shown}' ${changed().message}`, { cause: error })
    throw error
  })
  try {
    const now = await handle.stat()
    if (!now.isFile()) throw new PathProblem(`'${shown}' is not a regular file`)
    return {
      stats: now,
      read: most => readAtMost(handle, Math.min(most, now.size)),
      [Symbol.asyncDispose]: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** The bytes of a text file. Rejects folders, devices, binary content and files beyond MAX_FILE_BYTES. */
export async function readTextBytes(located: Located): Promise<Buffer> {
  const { shown } = located
  await using file = await openFile(located)
  const { size } = file.stats
  if (size > MAX_FILE_BYTES)
    throw new PathProblem(
      `'${shown}' has ${size} bytes, but at most ${MAX_FILE_BYTES} can be read at once; use ` +
        'search_files, or read a part of it with the terminal',
    )
  const bytes = await file.read(MAX_FILE_BYTES)
  if (bytes.subarray(0, 8192).includes(0))
    throw new PathProblem(
      hasUtf16Mark(bytes)
        ? `'${shown}' is UTF-16 text (${size} bytes); convert it to UTF-8 with iconv in the terminal first`
        : `'${shown}' is a binary file (${size} bytes)`,
    )
  return bytes
}

const hasUtf16Mark = (bytes: Buffer): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)

/**
 * The text of a text file, for reading only. Invalid UTF-8 becomes U+FFFD, so never write a file from this
 * text; use readTextBytes for that.
 */
export const readText = async (located: Located): Promise<string> =>
  (await readTextBytes(located)).toString('utf8')

/** Opens the folder for a new file and creates missing ones. `folder` itself stays open. */
async function makeFolders(folder: Directory, missing: readonly string[]): Promise<Directory | null> {
  let inner: Directory | null = null
  for (const name of missing) {
    const next: Directory = await (inner ?? folder).makeChild(name).finally(() => inner?.close())
    inner = next
  }
  return inner
}

/**
 * Creates or replaces a whole file: it is written under a temporary name and renamed, so that a crash leaves
 * the old or the new file, and a symbolic link put in its place meanwhile is replaced, not followed.
 */
export async function replaceFile(
  { folder, missing, name, stats, shown }: Located,
  content: string | Uint8Array,
  mode = stats === null ? 0o644 & ~workspaceUmask() : stats.mode & 0o777,
): Promise<{ created: boolean }> {
  if (name === null || (stats !== null && !stats.isFile()))
    throw new PathProblem(`'${shown}' exists and is not a regular file`)
  try {
    await using made = await makeFolders(folder, missing)
    await putInPlace(made ?? folder, name, content, mode)
  } catch (error) {
    throw CHANGED.includes(errorCode(error) ?? '')
      ? new PathProblem(`'${shown}' changed while it was being written`, { cause: error })
      : error
  }
  return { created: stats === null }
}

async function putInPlace(
  folder: Directory,
  name: string,
  content: string | Uint8Array,
  mode: number,
): Promise<void> {
  const temporary = `.${name.slice(0, 100)}.${randomUUID()}`
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  const handle = await folder.openFile(temporary, flags, 0o600)
  try {
    try {
      await handle.writeFile(content)
      // Sets the mode explicitly, because open(2) would apply the umask of the service.
      await handle.chmod(mode)
    } finally {
      await handle.close()
    }
    await folder.rename(temporary, name)
  } catch (error) {
    await folder.unlink(temporary).catch((second: unknown) => {
      if (errorCode(second) !== 'ENOENT') throw second
    })
    throw error
  }
}

/** Removes a regular file; leaves anything else unchanged. */
export async function removeFile({ folder, name, stats }: Located): Promise<void> {
  if (name === null || stats?.isFile() !== true) return
  await folder.unlink(name).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
  })
}
