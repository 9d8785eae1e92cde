/** list_files: what is in a folder of the workspace, nearest first. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { unlessMissing } from './missing-file.ts'
import { defineTool } from './parameters.ts'
import { mustResolve } from './workspace-file.ts'
import { RESERVED_DIR } from './workspace-path.ts'

const MAX_ENTRIES = 500
/** Listed, but not walked into: their contents drown everything else. */
const CLOSED = new Set([RESERVED_DIR, '.git', 'node_modules', '.venv', '__pycache__'])

export const listFilesTool = defineTool({
  name: 'list_files',
  description: `List a folder of the workspace and what is below it, nearest first, at most ${MAX_ENTRIES} entries. Folders end with "/"; ${[...CLOSED].join(', ')} are not opened.`,
  parameters: z.strictObject({
    path: z.string().min(1).optional().describe('relative to the workspace; default: the workspace itself'),
  }),
  readOnly: true,
  idempotent: true,
  paths: ['path'],
  async run({ path = '.' }, { workspace, signal }) {
    const { path: top, shown } = await mustResolve(workspace, path, 'read')
    const stats = await unlessMissing(lstat(top))
    if (stats === null) throw new Error(`no folder '${shown}' in the workspace`)
    if (!stats.isDirectory()) throw new Error(`'${shown}' is a file, not a folder; read_file reads it`)
    const entries: string[] = []
    const folders = ['']
    let truncated = false
    for (let folder = folders.shift(); folder !== undefined && !truncated; folder = folders.shift()) {
      signal.throwIfAborted()
      const found = await readdir(join(top, folder), { withFileTypes: true })
      for (const entry of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        if (entries.length === MAX_ENTRIES) {
          truncated = true
          break
        }
        const name = folder + entry.name
        if (entry.isDirectory()) {
          entries.push(name + '/')
          if (!CLOSED.has(entry.name)) folders.push(name + '/')
        } else if (entry.isSymbolicLink()) {
          entries.push(name + ' (link)')
        } else {
          const size = await lstat(join(top, name)).then(
            ({ size }) => size,
            () => null,
          )
          entries.push(size === null ? name : `${name} (${size} bytes)`)
        }
      }
    }
    return {
      content: {
        path: shown,
        entries,
        ...(truncated ? { truncated: `only the first ${MAX_ENTRIES} entries` } : {}),
      },
    }
  },
})
