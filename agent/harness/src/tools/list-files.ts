/** list_files: the content of a workspace folder, nearest levels first. */
import { type Directory, enterIfThere, type Entry, locate, openFolder, RESERVED_DIR } from '@cairn/workspace'
import { z } from 'zod'
import { defineTool } from './parameters.ts'

const MAX_ENTRIES = 500
/** Listed but not descended into, because their contents would drown out everything else. */
const CLOSED = new Set([RESERVED_DIR, '.git', 'node_modules', '.venv', '__pycache__'])

/** An entry as the model reads it. */
async function describe(folder: Directory, { name, kind }: Entry): Promise<string> {
  if (kind === 'folder') return `${name}/`
  if (kind === 'link') return `${name} (link)`
  const stats = await folder.look(name)
  return stats === null ? name : `${name} (${stats.size} bytes)`
}

/**
 * Opens a folder below the top one again: keeping all of them open would take too many descriptors. Null: it
 * vanished.
 */
async function openBelow(top: Directory, names: readonly string[]): Promise<Directory | null> {
  const [name = '', ...rest] = names
  const folder = await enterIfThere(top, name)
  if (folder === null || rest.length === 0) return folder
  await using _ = folder
  return await openBelow(folder, rest)
}

export const listFilesTool = defineTool({
  name: 'list_files',
  description:
    `List a folder of the workspace and what is below it, nearest first, at most ${MAX_ENTRIES} entries. ` +
    `Folders end with "/"; ${[...CLOSED].join(', ')} are not opened.`,
  parameters: z.strictObject({
    path: z.string().min(1).optional().describe('relative to the workspace; default: the workspace itself'),
  }),
  readOnly: true,
  idempotent: true,
  paths: ['path'],
  async run({ path = '.' }, { workspace, signal }) {
    await using found = await locate(workspace, path, 'read')
    const { stats, shown } = found
    if (stats === null) throw new Error(`no folder '${shown}' in the workspace`)
    await using top = await openFolder(found)
    if (top === null) throw new Error(`'${shown}' is a file, not a folder; read_file reads it`)
    const entries: string[] = []
    const ahead: string[][] = []
    for (let names: string[] | undefined = []; names !== undefined; names = ahead.shift()) {
      signal.throwIfAborted()
      const below = names
      await using opened = below.length === 0 ? null : await openBelow(top, below)
      if (below.length > 0 && opened === null) continue
      const folder = opened ?? top
      // One more than the maximum shows that there are more.
      const listed = (await folder.entries()).slice(0, MAX_ENTRIES + 1 - entries.length)
      const texts = await Promise.all(listed.map(entry => describe(folder, entry)))
      entries.push(...texts.map(text => [...below, text].join('/')))
      if (entries.length > MAX_ENTRIES) break
      for (const { name, kind } of listed)
        if (kind === 'folder' && !CLOSED.has(name)) ahead.push([...below, name])
    }
    return {
      content: {
        path: shown,
        entries: entries.slice(0, MAX_ENTRIES),
        ...(entries.length > MAX_ENTRIES ? { truncated: `only the first ${MAX_ENTRIES} entries` } : {}),
      },
    }
  },
})
