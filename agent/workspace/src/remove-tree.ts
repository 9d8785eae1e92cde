/**
 * Removes folders with everything in them. A symbolic link is removed and never followed, even if it replaced
 * a folder a moment ago. Names may be arbitrary bytes and nesting may be arbitrarily deep: each folder is
 * moved up to the top one and emptied there, so that three descriptors suffice.
 */
import { randomUUID } from 'node:crypto'
import { Directory, type Name } from './directory.ts'
import { unlessMissing } from './missing-file.ts'
import { errorCode } from './path-problem.ts'

const NO_FOLDER: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP']
/** The entry was replaced or filled since it was listed; the next pass handles it. */
const NOT_NOW: readonly string[] = [...NO_FOLDER, 'ENOTEMPTY', 'EEXIST', 'EISDIR']
/** More passes than any nesting needs; stops the loop when a process keeps filling the folder. */
const MAX_PASSES = 1_000_000

const unless =
  (codes: readonly string[]) =>
  (thrown: unknown): null => {
    if (!codes.includes(errorCode(thrown) ?? '')) throw thrown
    return null
  }

/** Removes an entry of any kind from an open folder; a missing entry is fine. */
export async function removeEntry(folder: Directory, name: Name): Promise<void> {
  await using top = await folder.child(name).catch(unless(NO_FOLDER))
  if (top === null) return void (await folder.unlink(name).catch(unless(['ENOENT'])))
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const entries = await asOwner(top, () => top.rawEntries())
    if (entries.length === 0) return void (await folder.removeFolder(name).catch(unless(['ENOENT'])))
    for (const entry of entries)
      await (entry.kind === 'folder' ? unnest(top, entry.name) : drop(top, entry.name))
  }
  throw new Error('[removeEntry] the folder fills up faster than it can be emptied')
}

/** Like `removeEntry`, with the parent given by path. */
export async function removeTree(parent: string, name: string): Promise<void> {
  await using folder = await unlessMissing(Directory.openPlace(parent))
  if (folder !== null) await removeEntry(folder, name)
}

/** Removes a subfolder of `top`: deletes its files and moves its folders up to `top`. */
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
  // Moving a folder requires write permission on it.
  if (folder !== null) await asOwner(folder, move).catch(unless(NOT_NOW))
}

const drop = async (folder: Directory, name: Name): Promise<void> =>
  void (await asOwner(folder, () => folder.unlink(name)).catch(unless(NOT_NOW)))

/** An agent may have removed all permissions from its folder, including the service's. */
async function asOwner<T>(folder: Directory, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error
    await folder.unlock()
    return act()
  }
}
