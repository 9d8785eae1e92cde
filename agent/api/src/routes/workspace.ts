/**
 * Files of a session's workspace, read only. The agent writes there at the same time, so nothing in it is
 * trusted: every access goes through `@cairn/workspace`.
 */
import { extname } from 'node:path'
import { AppError } from '@cairn/protocol'
import {
  Directory,
  enterIfThere,
  type Entry,
  locate,
  openFile,
  type OpenFile,
  PathProblem,
  sessionFolder,
  unlessMissing,
} from '@cairn/workspace'
import { workspaceOf } from '@cairn/sessions'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'

const MAX_ENTRIES = 5000
const MAX_DEPTH = 12
const MAX_TEXT = 500_000
const MAX_IMAGE = 10 * 1024 * 1024
const IMAGES = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp'])

/** A worker may share the workspace of another session. */
async function rootOf({ store, workspacesDir }: Services, sessionId: string): Promise<string> {
  const session = await store.sessions.get(sessionId)
  return sessionFolder(workspacesDir, session === null ? sessionId : workspaceOf(session))
}

type Shown = { path: string; kind: 'file' | 'dir'; size?: number }
type Tree = { entries: Shown[]; truncated: boolean }

export const workspaceTree: Handler<'workspaceTree'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const tree: Tree = { entries: [], truncated: false }
  // A workspace does not exist before the first write to it.
  await using root = await unlessMissing(Directory.open(await rootOf(services, params.id)))
  if (root !== null) await walk(tree, root, '', 1)
  return tree
}

async function walk(tree: Tree, folder: Directory, prefix: string, depth: number): Promise<void> {
  const found = (await folder.entries())
    .filter(({ kind }) => kind === 'file' || kind === 'folder')
    // One more than fits shows that there are more.
    .slice(0, MAX_ENTRIES + 1 - tree.entries.length)
  const shown = await Promise.all(found.map(entry => describe(folder, entry, prefix)))
  for (const [index, entry] of shown.entries()) {
    if (tree.entries.length >= MAX_ENTRIES) {
      tree.truncated = true
      return
    }
    tree.entries.push(entry)
    if (entry.kind === 'file') continue
    if (depth === MAX_DEPTH) tree.truncated = true
    else await walkInto(tree, folder, found[index]?.name ?? '', `${entry.path}/`, depth + 1)
  }
}

async function walkInto(tree: Tree, parent: Directory, name: string, prefix: string, depth: number) {
  // A folder may disappear while it is being read.
  await using folder = await enterIfThere(parent, name)
  if (folder !== null) await walk(tree, folder, prefix, depth)
}

async function describe(folder: Directory, { name, kind }: Entry, prefix: string): Promise<Shown> {
  const path = prefix + name
  if (kind === 'folder') return { path, kind: 'dir' }
  const stats = await folder.look(name)
  return stats?.isFile() ? { path, kind: 'file', size: stats.size } : { path, kind: 'file' }
}

export const workspaceFile: Handler<'workspaceFile'> = async ({ services, principal, params, query }) => {
  await services.guard.check(principal, params.id)
  const absent = () =>
    new AppError('not_found', `File ${JSON.stringify(query.path.slice(0, 200))} not found in the workspace.`)
  try {
    await using found = await unlessMissing(locate(await rootOf(services, params.id), query.path, 'read'))
    if (found === null) throw absent()
    await using file = await openFile(found)
    return await read(file, found.shown)
  } catch (error) {
    if (error instanceof PathProblem) throw absent()
    throw error
  }
}

async function read({ stats: { size }, read }: OpenFile, path: string) {
  const isImage = IMAGES.has(extname(path).toLowerCase())
  if (isImage && size > MAX_IMAGE)
    throw new AppError('wrong_target', `Image too large: ${size} bytes, at most ${MAX_IMAGE} can be shown.`)
  const most = isImage ? MAX_IMAGE : MAX_TEXT
  const bytes = await read(most)
  const shown = { path, size, truncated: size > most }
  if (isImage || bytes.includes(0))
    return { ...shown, encoding: 'base64' as const, content: bytes.toString('base64') }
  return { ...shown, encoding: 'utf-8' as const, content: wholeCharacters(bytes, shown.truncated) }
}

/** Decodes bytes that may have been cut inside a character. */
function wholeCharacters(bytes: Buffer, isCut: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: isCut })
}
