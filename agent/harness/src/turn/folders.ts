/** The folders of a session: created before its first tool runs. */
import { join } from 'node:path'
import type { SessionRow } from '@cairn/log'
import type { Logger } from '@cairn/models/logger'
import { asError } from '@cairn/protocol'
import { childConfig, workspaceOf } from '@cairn/sessions'
import { sessionFolder } from '@cairn/workspace'
import type { WorkspaceCopies } from '../tools/workspace-copies.ts'

/** Absolute paths of the session's workspace, and of its checkpoint store. */
export type Folders = { workspace: string; checkpoints: string }

export type FolderDeps = {
  dataDir: string
  workspacesDir: string
  /** Creates a session's folder below `root` if it is missing; returns its path. */
  makeFolder: (root: string, sessionId: string) => Promise<string>
  /** The workspace copies of workers. */
  copies: WorkspaceCopies
}

export async function makeFolders(
  { workspacesDir, dataDir, makeFolder, copies }: FolderDeps,
  session: SessionRow,
  signal: AbortSignal,
): Promise<Folders> {
  const copied = childConfig(session)?.copied_from
  if (copied !== undefined) await copies.make(session.id, copied, signal)
  const workspace = await makeFolder(workspacesDir, workspaceOf(session))
  // The store creates its folder when something is stored: most turns store nothing.
  return { workspace, checkpoints: sessionFolder(join(dataDir, 'checkpoints'), session.id) }
}

/**
 * What a worker changed in its copy; null: it has none, or the changes are unknown. That must not prevent its
 * end.
 */
export async function writtenBy(
  { copies }: Pick<FolderDeps, 'copies'>,
  session: SessionRow,
  report: Logger,
): Promise<readonly string[] | null> {
  if (childConfig(session)?.copied_from === undefined) return null
  try {
    return (await copies.changes(session.id))?.map(({ path }) => path) ?? null
  } catch (error) {
    report('warn', 'failed to list the session folder', { error: asError(error).message })
    return null
  }
}
