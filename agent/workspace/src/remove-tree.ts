/**
 * Removing folders with everything in them. A link is removed and never followed, also where a folder was
 * replaced by it a moment ago. Names may be any bytes, and folders may be nested without end: each is moved
 * up to the top one and emptied there, so that three descriptors are enough.
 */
import { randomUUID } from 'node:crypto'
import { Directory, type Name } from './directory.ts'
import { unlessMissing } from './missing-file.ts'
import { errorCode } from './path-problem.ts'

const NO_FOLDER: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP']
/** It became something else, or was filled, since it was listed: the next pass sees it as it is. */
const NOT_NOW: readonly string[] = [...NO_FOLDER, 'ENOTEMPTY', 'EEXIST', 'EISDIR']
/** More than any nesting needs; somebody who fills the folder all the time ends it here. */
const MAX_PASSES = 1_000_000

const unless =
  (codes: readonly string[]) =>
  (thrown: unknown): null => {
    if (!codes.includes(errorCode(thrown) ?? '')) throw thrown
    return null
  }

/** Removes what has this name in an open folder, whatever it is; nothing there is fine. */
export async function removeEntry(folder: Directory, name: Name): Promise<void> {
  await using top = await folder.child(name).catch(unless(NO_FOLDER))
  if (top === null) return void (await folder.unlink(name).catch(unless(['ENOENT'])))
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const entries = await asOwner(top, () => top.rawEntries())
    if (entries.length === 0) return void (await folder.removeFolder(name).catch(unless(['ENOENT'])))
    for (const entry of entries)
      await (entry.kind === 'folder' ? unnest(top, entry.name) : drop(top, entry.name))
  }
  throw new Error('[removeEntry] the folder is being filled as fast as it is emptied')
}

/** A folder of its parent by path, as `removeEntry`. */
export async function removeTree(parent: string, name: string): Promise<void> {
  await using folder = await unlessMissing(Directory.openPlace(parent))
  if (folder !== null) await removeEntry(folder, name)
}

/** Removes a folder of `top` once its files are gone and its folders are `top`'s own. */
async function unnest(top: Directory, name: Name): Promise<void> {
  await using folder = await top.child(name).catch(unless(NO_FOLDER))
  if (folder === null) return
  for (const entry of await asOwner(folder, () => folder.rawEntries()))
    await (entry.kind === 'folder' ? lift(folder, entry.name, top) : drop(folder, entry.name))
  await asOwner(top, () => top.removeFolder(name)).catch(unless(NOT_NOW))
}

async function lift(from: Directory, name: Name, top: Directory): Promise<void> {
  const move = () => asOwner(from, () => from.moveTo(name, top, randomUUID()))
  await using folder = await from.child(name).catch(unless(NO_FOLDER))
  // A folder changes its parent with the right to write into it, and not without.
  if (folder !== null) await asOwner(folder, move).catch(unless(NOT_NOW))
}

const drop = async (folder: Directory, name: Name): Promise<void> =>
  void (await asOwner(folder, () => folder.unlink(name)).catch(unless(NOT_NOW)))

/** An agent may have taken every right to its folder from everybody, the service included. */
async function asOwner<T>(folder: Directory, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (thrown) {
    if (errorCode(thrown) !== 'EACCES') throw thrown
    await folder.unlock()
    return act()
  }
}
