/**
 * Reads what was stored of files before a tool changed them: contents by SHA-256 in a folder outside all
 * workspaces, and manifests, which are stored as contents too (contract 10.3).
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Workspace path → SHA-256 of the content, and mode; null: the file did not exist. */
export type CheckpointManifest = Record<string, { sha256: string; mode: number } | null>

const sha256 = (content: Uint8Array | string) => createHash('sha256').update(content).digest('hex')

export async function getContent(folder: string, hash: string): Promise<Buffer> {
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw new Error(`[checkpoint] '${hash.slice(0, 80)}' is not the hash of a checkpoint`)
  const content = await readFile(join(folder, hash.slice(0, 2), hash))
  if (sha256(content) !== hash) throw new Error(`[checkpoint] ${hash} is damaged`)
  return content
}

/** The stored content is not a manifest. */
export class NoCheckpoint extends Error {
  override readonly name = 'NoCheckpoint'
}

/** The files of a checkpoint by path. Throws if `hash` is not a checkpoint in this folder. */
export async function readCheckpoint(folder: string, hash: string): Promise<CheckpointManifest> {
  const text = (await getContent(folder, hash)).toString('utf8')
  try {
    const manifest = JSON.parse(text) as unknown
    if (isManifest(manifest)) return manifest
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new NoCheckpoint(`[checkpoint] ${hash} is not a list of files`)
}

const isManifest = (value: unknown): value is CheckpointManifest =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(
    kept => kept === null || typeof (kept as { sha256?: unknown } | undefined)?.sha256 === 'string',
  )
