/**
 * Iterates over the files of a workspace, except in folders that tools generate. Symbolic links and files
 * that vanish meanwhile are skipped.
 */
import { constants, type Stats } from 'node:fs'
import { Directory } from './directory.ts'
import { enterIfThere } from './folder.ts'
import { RESERVED_DIR } from './locate.ts'
import { unlessMissing } from './missing-file.ts'
import { errorCode } from './path-problem.ts'

/** Folders that tools generate, and regenerate when they are missing. */
export const MADE_BY_TOOLS: readonly string[] = ['node_modules', '.venv', '__pycache__']
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', RESERVED_DIR, ...MADE_BY_TOOLS])
const GONE: readonly string[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO', 'EACCES']

export type WalkedFile = {
  path: string
  stats: Stats
  /** The content; null if it is larger than `most` bytes. Valid only until the next file is requested. */
  read(most: number): Promise<Buffer | null>
}

export async function* walkFiles(workspace: string): AsyncGenerator<WalkedFile> {
  await using top = await unlessMissing(Directory.open(workspace))
  if (top !== null) yield* below(top, '')
}

async function* below(folder: Directory, path: string): AsyncGenerator<WalkedFile> {
  for (const { name, kind } of await folder.entries()) {
    if (PASSED_OVER.has(name)) continue
    if (kind === 'folder') {
      await using inner = await enterIfThere(folder, name)
      if (inner !== null) yield* below(inner, `${path}${name}/`)
    } else if (kind === 'file') {
      const stats = await folder.look(name)
      if (stats?.isFile() === true)
        yield { path: path + name, stats, read: most => readBounded(folder, name, most) }
    }
  }
}

async function readBounded(folder: Directory, name: string, most: number): Promise<Buffer | null> {
  try {
    await using file = await folder.openFile(name, constants.O_RDONLY)
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > most) return null
    // The file may grow or shrink during the read.
    const buffer = Buffer.alloc(stats.size)
    const { bytesRead } = await file.read(buffer, 0, stats.size, 0)
    return buffer.subarray(0, bytesRead)
  } catch (error) {
    if (GONE.includes(errorCode(error) ?? '')) return null
    throw error
  }
}
