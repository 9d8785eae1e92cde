/** What the checks of a release share. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { asError } from '@cairn/protocol'
import { NotRun } from './as-user.ts'

/** Returns what the table shows. Throws NotRun, or what failed. */
export type Check = () => string | Promise<string>
export type Checks = Record<string, Check>

/** Where the checks write: `work` is removed at the end, `out` has the artifacts. */
export type CheckFolders = { work: string; out: string }

/** Artifacts of other checks and parts of the release. */
export function requireBuilt(path: string): void {
  if (!existsSync(path)) throw new NotRun(`${path} was not built`)
}

/** Calls a function that throws if a tool or a registry is missing. */
export function orNotRun<T>(call: () => T): T {
  try {
    return call()
  } catch (error) {
    throw new NotRun(asError(error).message.split('\n')[0])
  }
}

export const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
