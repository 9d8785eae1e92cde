import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { InputError } from './errors.ts'

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

/** Whether an error of the file system says that the path does not exist. */
export function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}

/** What a person can mend by choosing another path. */
const MENDABLE: Readonly<Record<string, string>> = {
  EEXIST: 'is a file, or below a file; give a directory or a new path',
  ENOTDIR: 'is a file, or below a file; give a directory or a new path',
  ENOENT: 'cannot create a directory here; the file system does not allow it',
  EACCES: 'cannot create the directory: permission denied',
  EPERM: 'cannot create the directory: permission denied',
  EROFS: 'cannot create the directory: the file system is read-only',
  ENAMETOOLONG: 'cannot create the directory: the name is too long',
}

/** Makes a directory that a person named, unless it is there; `what` names it in the message. */
export async function makeDirectory(path: string, what: string): Promise<void> {
  await makeDirectories(path).catch((cause: unknown) => {
    const why = MENDABLE[codeOf(cause) ?? '']
    if (why === undefined) throw cause
    throw new InputError(`${what} ${path}: ${why}`, { cause })
  })
}

/**
 * Makes a directory and those above it. Node's own recursive mkdir never returns where the system says ENOENT
 * below a directory that is there, as it does in /proc.
 */
export async function makeDirectories(path: string): Promise<void> {
  const full = resolve(path)
  try {
    await makeOne(full)
  } catch (error) {
    const parent = dirname(full)
    if (codeOf(error) !== 'ENOENT' || parent === full) throw error
    // One that is there was perhaps made since; where it was not, the second try fails as the first did.
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

/** A path could not be written, and nothing about the request would change that: the disk is full, or fails. */
export class WriteError extends Error {
  override readonly name = 'WriteError'
  readonly path: string

  /** `advice` says what is left, and how to go on. */
  constructor(path: string, cause: unknown, advice?: string) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`${path}: cannot write (${why})${advice === undefined ? '' : `; ${advice}`}`, { cause })
    this.path = path
  }
}

const STORAGE = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'])

/** Adds the path to an error of writing, whose message lacks it. Returns other errors unchanged. */
export const withPath = (path: string, error: unknown): unknown =>
  STORAGE.has(codeOf(error) ?? '') ? new WriteError(path, error) : error
