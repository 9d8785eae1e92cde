/** Files as memory: weights are read from the page cache, without a copy. */
import { loadAddon } from './load.ts'

/**
 * The bytes of a file that is not empty. If a mapped file shrinks, an access to the missing part ends the
 * process, as with every mapped file.
 */
export const mapFile = async (path: string): Promise<Uint8Array> =>
  new Uint8Array((await loadAddon()).mapFile(path))

/**
 * An unnamed file of `bytes` bytes in a directory. The system deletes it when the process ends in any way.
 * Data written to it survives `forgetPages`.
 */
export const mapSpool = async (directory: string, bytes: number): Promise<Uint8Array> =>
  new Uint8Array((await loadAddon()).mapSpool(directory, bytes))

/**
 * Releases the pages inside a view of a mapped file to the system. Data written to them is lost, except in a
 * spool.
 */
export const forgetPages = async (view: Uint8Array): Promise<void> => (await loadAddon()).forgetPages(view)
