import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError } from './errors.ts'

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether a file system error means that the path does not exist. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}

/** Errors that another path may fix. */
const MENDABLE: Readonly<Record<string, string>> = {
  EEXIST: 'is a file, or below a file; give a directory or a new path',
  ENOTDIR: 'is a file, or below a file; give a directory or a new path',
  ENOENT: 'cannot create a directory here; the file system does not allow it',
  EACCES: 'cannot create the directory: permission denied',
  EPERM: 'cannot create the directory: permission denied',
  EROFS: 'cannot create the directory: the file system is read-only',
  ENAMETOOLONG: 'cannot create the directory: the name is too long',
}

/** Creates a directory that the user named, unless it exists. `what` names it in the message. */
export async function makeDirectory(path: string, what: string): Promise<void> {
  await makeDirectories(path).catch((cause: unknown) => {
    const why = MENDABLE[codeOf(cause) ?? '']
    if (why === undefined) throw cause
    throw new InputError(`${what} ${path}: ${why}`, { cause })
  })
}

/**
 * Creates a directory and its parents. Node's own recursive mkdir never returns if the system reports ENOENT
 * below an existing directory, as in /proc.
 */
export async function makeDirectories(path: string): Promise<void> {
  const full = resolve(path)
  try {
    await makeOne(full)
  } catch (error) {
    const parent = dirname(full)
    if (codeOf(error) !== 'ENOENT' || parent === full) throw error
    // An existing parent was perhaps created just now. If it was not, the second try fails like the first.
    if (!(await isThere(parent))) await makeDirectories(parent)
    await makeOne(full)
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const existsAsDirectory = codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()
    if (!existsAsDirectory) throw error
  }
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false
      throw error
    },
  )

/** A path could not be written for a reason outside the request: the disk is full, or fails. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly path: string

  /** `advice` says what is saved, and how to resume. */
  constructor(path: string, cause: unknown, advice?: string) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`${path}: cannot write (${why})${advice === undefined ? '' : `; ${advice}`}`, { cause })
    this.path = path
  }
}

const STORAGE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'])

/** Adds the path to a write error, whose message lacks it. Returns other errors unchanged. */
export const withPath = (path: string, error: unknown): unknown =>
  STORAGE.has(codeOf(error) ?? '') ? new WriteError(path, error) : error
