import { mkdir } from 'node:fs/promises'
import { InputError } from './errors.ts'

/** Whether an error of the file system says that the path does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}

/**
 * Makes a directory that a person named, unless it is there; `what` names it in the message where a file is
 * in the way.
 */
export async function makeDirectory(path: string, what: string): Promise<void> {
  await mkdir(path, { recursive: true }).catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'EEXIST' || cause.code === 'ENOTDIR'))
      throw new InputError(
        `${what} ${path}: is a file or below one, and must be a directory or not be there yet`,
        { cause },
      )
    throw cause
  })
}
