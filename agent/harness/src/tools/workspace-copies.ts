/**
 * The workspaces of workers that work in copies. A copy is created before the worker's first turn, in a
 * separate folder that is then renamed. Its initial content is recorded next to the worker's checkpoints, out
 * of its reach, to determine what it changed.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type ChangedFile,
  changedFiles,
  type CopiedFile,
  copyWorkspace,
  Directory,
  getContent,
  makeSessionFolder,
  removeTree,
  RESERVED_DIR,
  sessionFolder,
  TooLarge,
  unlessMissing,
} from '@cairn/workspace'
import { ConfigurationError } from '../governance/agent.ts'
import { putContent } from './checkpoint.ts'

export type WorkspaceCopies = {
  /** Does nothing if it exists. */
  make(childId: string, sourceId: string, signal: AbortSignal): Promise<void>
  /** What the worker changed in its copy; null if this host has no copy. */
  changes(childId: string): Promise<ChangedFile[] | null>
  /** The initial content of a file of the copy; null: it was not kept. */
  original(childId: string, file: CopiedFile): Promise<Buffer | null>
  /** The texts merged so far: their results do not count as changes of the parent. */
  merged(childId: string): Promise<Merged>
  keepMerged(childId: string, merged: Merged): Promise<void>
  /** A temporary copy of a session's files; disposing removes it. */
  scratch(sourceId: string, signal: AbortSignal): Promise<Scratch>
}
type Scratch = AsyncDisposable & { /** Absolute path. */ path: string }
/** By path: SHA-256 of the worker's version, and of the merged result. */
export type Merged = Record<string, { theirs: string; result: string }>

const MAX_BYTES = 2 * 1024 ** 3
const MAX_FILES = 100_000
/** Maximum size of files that are merged, and whose original is therefore kept. */
export const MAX_MERGED_BYTES = 1024 * 1024
/** The harness's files there belong to the original session. */
const SKIP = [RESERVED_DIR]
const MANIFEST = 'copy.json'
const MERGED = 'merged.json'

type Limits = { max_bytes: number; max_files: number }
type Manifest = { version: 1; files: Record<string, CopiedFile> }

export function createWorkspaceCopies(
  { workspacesDir, dataDir }: { workspacesDir: string; dataDir: string },
  limits: Limits = { max_bytes: MAX_BYTES, max_files: MAX_FILES },
): WorkspaceCopies {
  const kept = (id: string): string => sessionFolder(join(dataDir, 'checkpoints'), id)
  const manifestOf = async (id: string): Promise<Manifest | null> => {
    const text = await unlessMissing(readFile(join(kept(id), MANIFEST), 'utf8'))
    return text === null ? null : (JSON.parse(text) as Manifest)
  }

  async function make(childId: string, sourceId: string, signal: AbortSignal): Promise<void> {
    const store = await makeSessionFolder(join(dataDir, 'checkpoints'), childId)
    if ((await unlessMissing(stat(join(store, MANIFEST)))) !== null) return
    await mkdir(workspacesDir, { recursive: true, mode: 0o700 })
    // A crash left this before any work happened in it.
    await removeTree(workspacesDir, childId)
    await removeUnfinished(workspacesDir, childId)
    const unfinished = `${childId}.${randomUUID()}`
    const files: Manifest['files'] = {}
    try {
      await copyWorkspace(sessionFolder(workspacesDir, sourceId), join(workspacesDir, unfinished), {
        ...limits,
        skip: SKIP,
        keep_bytes: MAX_MERGED_BYTES,
        signal,
        async onFile(path, file, content) {
          files[path] = file
          if (content !== null && !isBinary(content)) await putContent(store, content)
        },
      })
    } catch (error) {
      await removeTree(workspacesDir, unfinished)
      if (error instanceof TooLarge)
        throw new ConfigurationError(
          `Cannot copy the parent's workspace for the worker: ${error.message}. Start it with isolation: ` +
            'share, or make the workspace smaller.',
          { cause: error },
        )
      throw error
    }
    await rename(join(workspacesDir, unfinished), sessionFolder(workspacesDir, childId))
    // Written last: the copy counts as complete with it.
    await replaceJson(store, MANIFEST, { version: 1, files } satisfies Manifest)
  }

  return {
    make,
    async changes(childId) {
      const manifest = await manifestOf(childId)
      if (manifest === null) return null
      return changedFiles(sessionFolder(workspacesDir, childId), manifest.files, SKIP)
    },
    original: (childId, { sha256 }) => unlessMissing(getContent(kept(childId), sha256)),
    async merged(childId) {
      const text = await unlessMissing(readFile(join(kept(childId), MERGED), 'utf8'))
      return text === null ? {} : (JSON.parse(text) as Merged)
    },
    keepMerged: (childId, merged) => replaceJson(kept(childId), MERGED, merged),
    async scratch(sourceId, signal) {
      await mkdir(workspacesDir, { recursive: true, mode: 0o700 })
      // Left by a crash.
      await removeUnfinished(workspacesDir, sourceId)
      const name = `${sourceId}.${randomUUID()}`
      const remove = (): Promise<void> => removeTree(workspacesDir, name)
      try {
        await copyWorkspace(sessionFolder(workspacesDir, sourceId), join(workspacesDir, name), {
          ...limits,
          skip: SKIP,
          keep_bytes: 0,
          signal,
          onFile: () => Promise.resolve(),
        })
      } catch (error) {
        await remove()
        throw error
      }
      return { path: join(workspacesDir, name), [Symbol.asyncDispose]: remove }
    },
  }
}

async function replaceJson(store: string, name: string, value: unknown): Promise<void> {
  const temporary = join(store, `${name}.${randomUUID()}`)
  await writeFile(temporary, JSON.stringify(value), { mode: 0o600 })
  await rename(temporary, join(store, name))
}

async function removeUnfinished(workspacesDir: string, childId: string): Promise<void> {
  await using place = await Directory.openPlace(workspacesDir)
  for (const { name } of await place.entries())
    if (name.startsWith(`${childId}.`)) await removeTree(workspacesDir, name)
}

const BINARY_CHECK_BYTES = 8192
/** The same rule as in the file tools. */
export const isBinary = (content: Buffer): boolean => content.subarray(0, BINARY_CHECK_BYTES).includes(0)
