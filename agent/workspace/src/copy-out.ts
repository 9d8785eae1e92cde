/** Copies a workspace while a command may be changing it, without including anything from outside of it. */
import { constants } from 'node:fs'
import { chmod, mkdir, open, symlink, utimes } from 'node:fs/promises'
import { Directory, type Entry, type Name } from './directory.ts'
import { enterIfThere } from './folder.ts'
import { unlessMissing } from './missing-file.ts'
import { isLeftOut } from './path-problem.ts'

const CHUNK = 1024 * 1024

/**
 * Copies a folder with modes and times; symbolic links are copied verbatim. Special files and unreadable
 * entries are left out; returns their number. `target` must not exist.
 */
export async function copyFolder(source: string, target: string): Promise<number> {
  await using folder = await unlessMissing(Directory.open(source))
  return folder === null ? 1 : await copyInto(folder, Buffer.from(target))
}

async function copyInto(folder: Directory, target: Buffer): Promise<number> {
  // mkdir must create it: an existing name could be a symbolic link that was just copied.
  await mkdir(target, 0o700)
  let leftOut = 0
  for (const entry of await folder.rawEntries()) {
    const to = Buffer.concat([target, Buffer.from('/'), entry.name])
    try {
      leftOut += await copyEntry(folder, entry, to)
    } catch (error) {
      if (!isLeftOut(error)) throw error
      leftOut += 1
    }
  }
  const { mode, atime, mtime } = await folder.stats()
  await chmod(target, mode & 0o777)
  await utimes(target, atime, mtime)
  return leftOut
}

async function copyEntry(folder: Directory, { name, kind }: Entry<Buffer>, to: Buffer): Promise<number> {
  if (kind === 'file') return copyFile(folder, name, to)
  if (kind === 'link') {
    await symlink(await folder.readRawLink(name), to)
    return 0
  }
  if (kind !== 'folder') return 1
  await using inner = await enterIfThere(folder, name)
  return inner === null ? 1 : await copyInto(inner, to)
}

async function copyFile(folder: Directory, name: Name, to: Buffer): Promise<number> {
  await using source = await folder.openFile(name, constants.O_RDONLY)
  const stats = await source.stat()
  const { size, mode, atime, mtime } = stats
  if (!stats.isFile()) return 1
  await using target = await open(to, 'wx', 0o600)
  const buffer = Buffer.allocUnsafe(Math.min(size, CHUNK))
  // Up to the size at the start: a file that keeps growing would never end.
  for (let at = 0; at < size;) {
    const { bytesRead } = await source.read(buffer, 0, Math.min(CHUNK, size - at), at)
    if (bytesRead === 0) break
    await target.write(buffer, 0, bytesRead)
    at += bytesRead
  }
  await target.chmod(mode & 0o777)
  await target.utimes(atime, mtime)
  return 0
}
