/**
 * Opens files whose path comes from a client. Anything but a regular file is rejected, because reading it may
 * never end.
 */
import { closeSync, constants, fstatSync, openSync } from 'node:fs'

/** Opens a file for reading. Without O_NONBLOCK a named pipe would block the whole process. */
export function openRegularFile(path: string): number {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  if (fstatSync(file).isFile()) return file
  closeSync(file)
  throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EINVAL' })
}
