/** Files of a copied workspace that were added, changed or removed since the copy. */
import { constants } from 'node:fs'
import type { CopiedFile } from './copy-workspace.ts'
import { Directory } from './directory.ts'
import { enterIfThere } from './folder.ts'
import { hashFile } from './hash-file.ts'
import { unlessMissing } from './missing-file.ts'
import { errorCode } from './path-problem.ts'

export type ChangedFile = {
  path: string
  /** The file in the copy; null: it did not exist. */
  was: CopiedFile | null
  /** The file now; null: removed. */
  now: { sha256: string; mode: number } | null
}

/** Maximum files in the list; a workspace with more gets none. */
const MAX_FILES = 200_000

/** Changed files by path. Symbolic links and special files are skipped, and so are the folders in `skip`. */
export async function changedFiles(
  workspace: string,
  copied: Readonly<Record<string, CopiedFile>>,
  skip: readonly string[],
): Promise<ChangedFile[]> {
  const changes: ChangedFile[] = []
  const seen = new Set<string>()
  await using top = await unlessMissing(Directory.open(workspace))
  if (top !== null) await look(top, '')
  for (const path of Object.keys(copied))
    if (!seen.has(path)) changes.push({ path, was: copied[path] ?? null, now: null })
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : 1))

  async function look(folder: Directory, path: string): Promise<void> {
    for (const { name, kind } of await folder.entries()) {
      if (path === '' && skip.includes(name)) continue
      if (kind === 'folder') {
        await using inner = await enterIfThere(folder, name)
        if (inner !== null) await look(inner, `${path}${name}/`)
      } else if (kind === 'file') await lookAt(folder, name, path + name)
    }
  }

  async function lookAt(folder: Directory, name: string, path: string): Promise<void> {
    if (seen.size >= MAX_FILES) throw new Error(`the workspace has more than ${MAX_FILES} files`)
    const was = Object.hasOwn(copied, path) ? (copied[path] ?? null) : null
    try {
      const now = await stateOf(folder, name, was)
      if (now === null) return
      seen.add(path)
      if (was?.sha256 !== now.sha256 || was.mode !== now.mode) changes.push({ path, was, now })
    } catch (error) {
      // It was removed or replaced after it was listed.
      if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(errorCode(error) ?? '')) throw error
    }
  }
}

async function stateOf(
  folder: Directory,
  name: string,
  was: CopiedFile | null,
): Promise<{ sha256: string; mode: number } | null> {
  await using file = await folder.openFile(name, constants.O_RDONLY)
  const stats = await file.stat()
  if (!stats.isFile()) return null
  const mode = stats.mode & 0o777
  const isUntouched =
    was !== null &&
    was.size === stats.size &&
    was.mtime_ms === stats.mtimeMs &&
    was.ctime_ms === stats.ctimeMs
  return { mode, sha256: isUntouched ? was.sha256 : await hashFile(file) }
}
