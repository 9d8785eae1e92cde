/**
 * The data directory contains every conversation and every key, so other users of the machine must not be
 * able to read it.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/config-error.ts'

const OTHERS = 0o077
const isOpen = (mode: number): boolean => (mode & OTHERS) !== 0

/**
 * Creates the directory if it is missing. mkdir(2) keeps the mode of an existing one, so access to it and its
 * files is revoked from other users; the service does not start if that fails.
 */
export function makePrivateDataDir(dataDir: string, chmod: typeof chmodSync = chmodSync): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  // Windows has no such modes.
  if (process.platform === 'win32') return
  if (isOpen(statSync(dataDir).mode)) closeToOthers(dataDir, chmod)
  for (const name of readdirSync(dataDir)) {
    const path = join(dataDir, name)
    const { mode } = lstatSync(path, { throwIfNoEntry: false }) ?? { mode: 0 }
    if ((mode & TYPE) === REGULAR && isOpen(mode)) chmod(path, mode & 0o700)
  }
}
const TYPE = 0o170000
const REGULAR = 0o100000

function closeToOthers(dataDir: string, chmod: typeof chmodSync): void {
  let failure: unknown
  try {
    chmod(dataDir, 0o700)
  } catch (error) {
    failure = error
  }
  const { mode } = statSync(dataDir)
  if (!isOpen(mode)) return
  const octal = (mode & 0o777).toString(8).padStart(4, '0')
  throw new ConfigError(
    'CAIRN_DATA',
    [
      `other users of this machine can open the data directory ${dataDir} (mode ${octal}), and this ` +
        `process cannot change that: run chmod 700 on it, or set CAIRN_DATA to a new directory, such as ` +
        join(dataDir, 'cairn'),
    ],
    { cause: failure },
  )
}
