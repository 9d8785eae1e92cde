/** Copies a folder of the service into a workspace. */
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Directory } from './directory.ts'
import { errorCode } from './path-problem.ts'
import { removeEntry } from './remove-tree.ts'

/**
 * Puts the entries of `source` into the folder at these names below the workspace. The previous content of
 * that folder, and anything but folders on the way to it, is replaced: the agent may have put a link there.
 */
export async function putFolder(
  workspace: string,
  names: readonly string[],
  source: string,
  entries: readonly string[],
): Promise<void> {
  let folder = await Directory.open(workspace)
  try {
    for (const [index, name] of names.entries()) {
      const inner = index === names.length - 1 ? await makeAnew(folder, name) : await makeSure(folder, name)
      await folder.close()
      folder = inner
    }
    for (const { name, kind } of await listSource(source))
      if (entries.includes(name)) await copyEntry(source, folder, name, kind)
  } finally {
    await folder.close()
  }
}

async function makeSure(folder: Directory, name: string): Promise<Directory> {
  try {
    return await folder.makeChild(name)
  } catch (error) {
    if (errorCode(error) !== 'ENOTDIR' && errorCode(error) !== 'ELOOP') throw error
    return makeAnew(folder, name)
  }
}

async function makeAnew(folder: Directory, name: string): Promise<Directory> {
  await removeEntry(folder, name)
  return folder.makeChild(name)
}

type Kind = 'file' | 'folder' | 'link' | 'other'

const listSource = async (path: string): Promise<{ name: string; kind: Kind }[]> =>
  (await readdir(path, { withFileTypes: true })).map(entry => ({
    name: entry.name,
    kind: entry.isFile()
      ? 'file'
      : entry.isDirectory()
        ? 'folder'
        : entry.isSymbolicLink()
          ? 'link'
          : 'other',
  }))

async function copyEntry(source: string, folder: Directory, name: string, kind: Kind): Promise<void> {
  const from = join(source, name)
  if (kind === 'file') await folder.copyIn(from, name)
  // Copied verbatim: it points to its neighbor in the copy, too.
  else if (kind === 'link') await folder.link(await readlink(from), name)
  else if (kind === 'folder') {
    await using inner = await folder.makeChild(name)
    for (const entry of await listSource(from)) await copyEntry(from, inner, entry.name, entry.kind)
  }
}
