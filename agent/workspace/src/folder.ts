/** Folders that `locate` found: opened to be listed, and made. */
import type { Directory, Name } from './directory.ts'
import type { Located } from './locate.ts'
import { errorCode } from './path-problem.ts'

/** The folder itself, beside the one that `located` holds; null: it is none, or it went away. */
export async function openFolder({ folder, name, stats }: Located): Promise<Directory | null> {
  if (stats?.isDirectory() !== true) return null
  return name === null ? folder : enterIfThere(folder, name)
}

/** A folder below an open one; null: it is none any more. */
export async function enterIfThere(folder: Directory, name: Name): Promise<Directory | null> {
  try {
    return await folder.child(name)
  } catch (thrown) {
    // What was listed a moment ago may be gone, or a link, or closed to us.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errorCode(thrown) ?? '')) return null
    throw thrown
  }
}
