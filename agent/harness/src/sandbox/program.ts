/** Where a program lies. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** PATH of every command, whatever that of the service is. */
export const COMMAND_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The first of the folders in PATH that has it, as an absolute path; null where none has. */
export function findProgram(name: string, path: string | undefined): string | null {
  // A relative folder would be looked up in whatever folder the caller stands in, a workspace perhaps.
  const folders = (path ?? '').split(delimiter).filter(isAbsolute)
  return folders.map(folder => join(folder, name)).find(isExecutable) ?? null
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
