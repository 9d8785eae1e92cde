/**
 * How a name in an open folder is reached. Node has no openat(2); Linux shows every open descriptor as
 * /proc/self/fd/N, and a name behind it is looked up in what was opened, wherever that lies by now. The
 * kernel needs nothing newer for it: no openat2(2).
 *
 * Where there is no such folder (macOS), names are reached by path, and `Directory` compares before and after
 * whether the path still leads to what was opened. Against somebody who swaps folders continuously this
 * is no protection: docs/tools.md says so.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'

export type Addressing = 'descriptor' | 'path'

export const descriptorPath = (fd: number): string => `/proc/self/fd/${fd}`

/** Tries it once, for real: /proc may be missing, or show somebody else's. */
function probeAddressing(): Addressing {
  if (process.platform !== 'linux') return 'path'
  const fd = openSync('/', constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const [real, found] = [fstatSync(fd), statSync(`${descriptorPath(fd)}/.`)]
    return real.ino === found.ino && real.dev === found.dev ? 'descriptor' : 'path'
  } catch {
    // No /proc, or one that this process may not look into.
    return 'path'
  } finally {
    closeSync(fd)
  }
}

export const addressing: Addressing = probeAddressing()

/**
 * Names a folder without opening it for reading, so that one without the right to read can be passed through,
 * as a path passes. Node does not export it; the number is the same wherever Node runs on Linux.
 */
const O_PATH = 0o10000000

/** Flags that open a folder and nothing else, no link to one either. */
export const FOLDER_FLAGS =
  constants.O_DIRECTORY | constants.O_NOFOLLOW | (addressing === 'descriptor' ? O_PATH : constants.O_RDONLY)

/** Flags for every file: no link is followed, and a FIFO or a device makes nobody wait. */
export const FILE_FLAGS = constants.O_NOFOLLOW | constants.O_NONBLOCK
