/**
 * How to reach a name in an open folder. Node has no openat(2), but Linux shows every open descriptor as
 * /proc/self/fd/N, and a name after it is resolved in the opened folder, wherever that has been moved to. Any
 * kernel supports this; openat2(2) is not needed.
 *
 * Without /proc (macOS), names are reached by path, and `Directory` checks before and after that the path
 * still leads to the opened folder. This does not protect against a process that swaps folders continuously
 * (docs/tools.md).
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs'

export type Addressing = 'descriptor' | 'path'

export const descriptorPath = (fd: number): string => `/proc/self/fd/${fd}`

/** Tests the mechanism once: /proc may be missing or belong to another PID namespace. */
function probeAddressing(): Addressing {
  if (process.platform !== 'linux') return 'path'
  const fd = openSync('/', constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    const [real, found] = [fstatSync(fd), statSync(`${descriptorPath(fd)}/.`)]
    return real.ino === found.ino && real.dev === found.dev ? 'descriptor' : 'path'
  } catch {
    // /proc is missing or not readable for this process.
    return 'path'
  } finally {
    closeSync(fd)
  }
}

export const addressing: Addressing = probeAddressing()

/**
 * Refers to a folder without opening it for reading, so that a folder without read permission can be
 * traversed, as in a path. Node does not export the constant; it is the same on all Linux platforms of Node.
 */
const O_PATH = 0o10000000

/** Flags that open only folders, and no symbolic link to one. */
export const FOLDER_FLAGS =
  constants.O_DIRECTORY | constants.O_NOFOLLOW | (addressing === 'descriptor' ? O_PATH : constants.O_RDONLY)

/** Flags for every file: symbolic links are not followed, and opening a FIFO or a device does not block. */
export const FILE_FLAGS = constants.O_NOFOLLOW | constants.O_NONBLOCK
