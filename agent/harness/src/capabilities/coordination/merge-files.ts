/**
 * Compares a worker's changes of its copy with the same files here: decided per file, and applied only if no
 * file has a conflict.
 *
 *   same       the file here equals the worker's, or already contains its change
 *   take       the file here is unchanged since the copy: adopt the worker's version, or its removal
 *   merge      both changed a text, in different lines
 *   conflict   both changed it
 */
import {
  type ChangedFile,
  locate,
  MAX_FILE_BYTES,
  openFile,
  PathProblem,
  removeFile,
  replaceFile,
} from '@cairn/workspace'
import { createHash } from 'node:crypto'
import {
  type WorkspaceCopies,
  isBinary,
  type Merged,
  MAX_MERGED_BYTES,
} from '../../tools/workspace-copies.ts'
import { mergeText } from './merge-text.ts'

type Content = { bytes: Buffer; mode: number }
export type Decided =
  | { path: string; do: 'same' }
  | { path: string; do: 'take'; content: Content | null }
  | { path: string; do: 'merge'; content: Content; hashes: Merged[string] }
  | { path: string; do: 'conflict'; why: string; theirs: Content | null }
export type Sides = {
  workspace: string
  copy: string
  childId: string
  copies: WorkspaceCopies
  merged: Merged
}

export async function decideFile(sides: Sides, change: ChangedFile): Promise<Decided> {
  const { path, was } = change
  const [ours, theirs] = [await contentAt(sides.workspace, path), await contentAt(sides.copy, path)]
  if (isEqual(ours, theirs)) return { path, do: 'same' }
  if (was === null ? ours === null : ours !== null && sha256(ours.bytes) === was.sha256)
    return { path, do: 'take', content: theirs }
  const before = sides.merged[path]
  if (before !== undefined && ours !== null && theirs !== null)
    if (sha256(ours.bytes) === before.result && sha256(theirs.bytes) === before.theirs)
      return { path, do: 'same' }
  const conflict = (why: string): Decided => ({ path, do: 'conflict', why, theirs })
  if (was === null) return conflict('both created a file with this name')
  if (ours === null) return theirs === null ? { path, do: 'same' } : conflict('it was removed here')
  if (theirs === null) return conflict('the worker removed it, and it changed here')
  const original = await sides.copies.original(sides.childId, was)
  if (original === null || [ours.bytes, original, theirs.bytes].some(bytes => !isMerged(bytes)))
    return conflict('both changed it, and it cannot be merged as text')
  const merged = mergeText(textOf(ours.bytes), textOf(original), textOf(theirs.bytes))
  if (merged === null) return conflict('both changed the same lines')
  const content = { bytes: Buffer.from(merged), mode: theirs.mode }
  const hashes = { theirs: sha256(theirs.bytes), result: sha256(content.bytes) }
  return content.bytes.equals(ours.bytes) ? { path, do: 'same' } : { path, do: 'merge', content, hashes }
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
const textOf = (bytes: Buffer): string => bytes.toString('utf8')
const isMerged = (bytes: Buffer): boolean =>
  bytes.length <= MAX_MERGED_BYTES && !isBinary(bytes) && Buffer.from(textOf(bytes)).equals(bytes)
const isEqual = (a: Content | null, b: Content | null): boolean =>
  a === null || b === null ? a === b : a.bytes.equals(b.bytes)

/** Null: the file does not exist. Anything but a regular file is reported. */
async function contentAt(workspace: string, path: string): Promise<Content | null> {
  await using found = await locate(workspace, path, 'write')
  if (found.stats === null) return null
  await using file = await openFile(found)
  if (file.stats.size > MAX_FILE_BYTES)
    throw new PathProblem(`'${path}' has ${file.stats.size} bytes; at most ${MAX_FILE_BYTES} can be applied`)
  return { bytes: await file.read(MAX_FILE_BYTES), mode: file.stats.mode & 0o777 }
}

/** Null removes the file. */
export async function putFile(workspace: string, path: string, content: Content | null): Promise<void> {
  await using found = await locate(workspace, path, 'write')
  if (content === null) await removeFile(found)
  else await replaceFile(found, content.bytes, content.mode)
}
