/** Files as memory: weights are read where the system keeps the file, without a copy. */
import { loadAddon } from './load.ts'

/**
 * The bytes of a file that is not empty. A file that shrinks while it is mapped ends the process where the
 * missing part is touched, as with every mapped file.
 */
export const mapFile = async (path: string): Promise<Uint8Array> =>
  new Uint8Array((await loadAddon()).mapFile(path))

/**
 * A file of so many bytes in a directory, without a name there: it is gone with the process, however that
 * ends. What is written to it stays when its pages are given back.
 */
export const mapSpool = async (directory: string, bytes: number): Promise<Uint8Array> =>
  new Uint8Array((await loadAddon()).mapSpool(directory, bytes))

/**
 * Gives the pages inside a view of a mapped file back to the system. What was written to them is lost, except
 * in a spool.
 */
export const forgetPages = async (view: Uint8Array): Promise<void> => (await loadAddon()).forgetPages(view)
