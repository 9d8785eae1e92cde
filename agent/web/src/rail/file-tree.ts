/** Converts paths to a tree: folders before files, each sorted by name. Pure. */

type Entry = { path: string; kind: 'file' | 'dir'; size?: number | undefined }
type FileEntry = { path: string; name: string; size: number | undefined }
export type Folder = { path: string; name: string; folders: Folder[]; files: FileEntry[] }

export function folderOf(entries: readonly Entry[]): Folder {
  const root: Folder = { path: '', name: '', folders: [], files: [] }
  const folders = new Map([['', root]])
  const open = (path: string): Folder => {
    const known = folders.get(path)
    if (known) return known
    const folder: Folder = { path, name: nameOf(path), folders: [], files: [] }
    folders.set(path, folder)
    open(parentOf(path)).folders.push(folder)
    return folder
  }
  for (const { path, kind, size } of entries) {
    if (kind === 'dir') open(path)
    else open(parentOf(path)).files.push({ path, name: nameOf(path), size })
  }
  for (const folder of folders.values()) {
    folder.folders.sort(byName)
    folder.files.sort(byName)
  }
  return root
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))
const byName = (a: { name: string }, b: { name: string }): number =>
  a.name.localeCompare(b.name, 'en', { numeric: true })
