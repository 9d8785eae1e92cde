/** Finds the path of a program. */
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

/** PATH of every command, independent of the service's. */
export const COMMAND_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** The absolute path in the first folder of PATH that contains it; null: none does. */
export function findProgram(name: string, path: string | undefined): string | null {
  // A relative folder would be resolved in the caller's working directory, possibly a workspace.
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
