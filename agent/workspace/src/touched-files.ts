/**
 * The files of a workspace that were made, written, moved or given other rights since a moment, whoever did
 * it: by the time that the kernel keeps of each (ctime), which no program can set.
 */
import { Directory } from './directory.ts'
import { enterIfThere } from './folder.ts'
import { RESERVED_DIR } from './locate.ts'
import { unlessMissing } from './missing-file.ts'

/** What tools make for themselves, and nobody reads. */
const PASSED_OVER = new Set(['.git', 'node_modules', '.venv', '__pycache__', RESERVED_DIR])
/** Somebody who makes files without end gets no whole list of them. */
const MOST_LOOKED_AT = 50_000

/** At most `most` paths, by path; `since` in epoch milliseconds. Links are passed over. */
export async function touchedFiles(workspace: string, since: number, most: number): Promise<string[]> {
  const touched: string[] = []
  let looked = 0
  await using top = await unlessMissing(Directory.open(workspace))
  if (top !== null) await look(top, '')
  return touched

  async function look(folder: Directory, path: string): Promise<void> {
    for (const { name, kind } of await folder.entries()) {
      if (touched.length >= most || looked >= MOST_LOOKED_AT) return
      if (kind === 'folder' && !PASSED_OVER.has(name)) {
        await using inner = await enterIfThere(folder, name)
        if (inner !== null) await look(inner, `${path}${name}/`)
      } else if (kind === 'file') {
        looked += 1
        const stats = await folder.look(name)
        if (stats?.isFile() === true && stats.ctimeMs >= since) touched.push(path + name)
      }
    }
  }
}
