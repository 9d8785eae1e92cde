/** Folders for temporary files, in the system's folder for them. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { asError } from '@cairn/protocol'

/** The folder for temporary files cannot be used; the message says what would help. */
export class TemporaryFolderError extends Error {
  override readonly name = 'TemporaryFolderError'
  constructor(parent: string, cause: unknown) {
    super(
      `Cannot create files in the temporary folder ${parent}: ${asError(cause).message}. ` +
        'Make it writable for this user, or set TMPDIR to a folder that is.',
      { cause },
    )
  }
}

/** Creates a new folder, private to this user, whose name begins with `prefix`. */
export function makeTemporaryFolder(prefix: string, parent = tmpdir()): string {
  try {
    return mkdtempSync(join(parent, prefix))
  } catch (error) {
    throw new TemporaryFolderError(parent, error)
  }
}
