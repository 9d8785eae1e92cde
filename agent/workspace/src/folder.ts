/** Opens folders that `locate` found for listing, and creates folders. */
import type { Directory, Name } from './directory.ts'
import type { Located } from './locate.ts'
import { errorCode } from './path-problem.ts'

/**
 * Opens the folder itself, in addition to the one that `located` holds; null: it is not a folder, or it
 * vanished.
 */
export async function openFolder({ folder, name, stats }: Located): Promise<Directory | null> {
  if (stats?.isDirectory() !== true) return null
  return name === null ? folder : enterIfThere(folder, name)
}

/** Opens a subfolder of an open folder; null: it is no longer a folder. */
export async function enterIfThere(folder: Directory, name: Name): Promise<Directory | null> {
  try {
    return await folder.child(name)
  } catch (error) {
    // The entry may have vanished, become a symbolic link or become unreadable since it was listed.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errorCode(error) ?? '')) return null
    throw error
  }
}
