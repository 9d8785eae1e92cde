/**
 * Saves what a file-mutating tool is about to change, so that it can be restored: a store of contents by
 * SHA-256 outside the workspace, and a manifest of the named files whose own hash is the `checkpoint_hash` of
 * `tool.call` (contract 10.3).
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CheckpointManifest,
  getContent,
  type Located,
  locate,
  MAX_FILE_BYTES,
  openFile,
  readCheckpoint,
  removeFile,
  replaceFile,
  unlessMissing,
} from '@cairn/workspace'
import { canonicalJson } from './canonical-json.ts'

const sha256 = (content: Uint8Array | string) => createHash('sha256').update(content).digest('hex')

export async function putContent(folder: string, content: Uint8Array | string): Promise<string> {
  const hash = sha256(content)
  const path = join(folder, hash.slice(0, 2), hash)
  if ((await unlessMissing(stat(path))) !== null) return hash
  await mkdir(join(folder, hash.slice(0, 2)), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, content, { mode: 0o600 })
  await rename(temporary, path)
  return hash
}

async function keep(folder: string, found: Located): Promise<CheckpointManifest[string]> {
  await using file = await openFile(found)
  const { size, mode } = file.stats
  if (size > MAX_FILE_BYTES)
    throw new Error(
      `'${found.shown}' has ${size} bytes; change files of more than ${MAX_FILE_BYTES} with the terminal`,
    )
  return { sha256: await putContent(folder, await file.read(MAX_FILE_BYTES)), mode: mode & 0o777 }
}

/**
 * Saves the current content of the named files and returns the checkpoint's hash. `folder` is the store,
 * outside all workspaces.
 */
export async function saveCheckpoint(
  folder: string,
  workspace: string,
  paths: readonly string[],
): Promise<string> {
  const manifest: CheckpointManifest = {}
  for (const given of paths) {
    await using found = await locate(workspace, given, 'write')
    // The tool must refuse a folder in the file's place; there is nothing to save.
    manifest[found.shown] = found.stats?.isFile() === true ? await keep(folder, found) : null
  }
  return putContent(folder, canonicalJson(manifest))
}

/** Restores the files of a checkpoint; those that did not exist are removed. Repeating it changes nothing. */
export async function restoreCheckpoint(folder: string, workspace: string, hash: string): Promise<string[]> {
  const manifest = await readCheckpoint(folder, hash)
  for (const [shown, kept] of Object.entries(manifest)) {
    await using found = await locate(workspace, shown, 'write')
    if (kept === null) await removeFile(found)
    else await replaceFile(found, await getContent(folder, kept.sha256), kept.mode)
  }
  return Object.keys(manifest)
}
