/**
 * The workspaces of workers that work in copies. A copy is made before the worker's first turn, in a folder
 * of its own that is then renamed, and what was in it then is kept beside the worker's checkpoints, out of
 * its reach: what it changed is told by that.
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
import { ConfigurationError } from './agent.ts'
import { putContent } from './tools/checkpoint.ts'

export type WorkspaceCopies = {
  /** Nothing happens where it is there. */
  make(childId: string, sourceId: string, signal: AbortSignal): Promise<void>
  /** What the worker made of its copy; null: there is none, here. */
  changes(childId: string): Promise<ChangedFile[] | null>
  /** What a file of the copy was when it was made; null: it was not kept. */
  original(childId: string, file: CopiedFile): Promise<Buffer | null>
  /** The texts that were merged so far: what came of each is no change of its parent's. */
  merged(childId: string): Promise<Merged>
  keepMerged(childId: string, merged: Merged): Promise<void>
  /** A copy of the files of a session to try something in; it is removed when it is disposed of. */
  scratch(sourceId: string, signal: AbortSignal): Promise<Scratch>
}
type Scratch = AsyncDisposable & { /** Absolute. */ path: string }
/** By path: the SHA-256 of what the worker made of it, and of what came of merging that. */
export type Merged = Record<string, { theirs: string; result: string }>

const MAX_BYTES = 2 * 1024 ** 3
const MAX_FILES = 100_000
/** What two sides changed is merged up to this size: so much of each file is kept. */
export const MAX_MERGED_BYTES = 1024 * 1024
/** What the harness keeps there is of the session that it was made for. */
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
    // What a death left here was never worked in.
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
          `The worker was to work in a copy of its parent's workspace, and ${error.message}. ` +
            'Start it with isolation: share, or make the workspace smaller.',
          { cause: error },
        )
      throw error
    }
    await rename(join(workspacesDir, unfinished), sessionFolder(workspacesDir, childId))
    // Last of all: with it the copy counts as made.
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
      // What a death left here.
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
/** As the tools of files see it. */
export const isBinary = (content: Buffer): boolean => content.subarray(0, BINARY_CHECK_BYTES).includes(0)
