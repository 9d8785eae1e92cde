/** Stores the files of a message in `inbox/` of its session's workspace before the message is accepted. */
import { locate, makeSessionFolder, replaceFile } from '@cairn/workspace'
import type { InboundRow, SessionRow } from '@cairn/log'
import { asError, type Attachment } from '@cairn/protocol'
import { workspaceOf } from '@cairn/sessions'
import type { FileRef } from './adapter.ts'
import { cleanName } from './clean-name.ts'
import type { ChannelDeps, Connection } from './deps.ts'

/** Files per message. */
const MAX_FILES = 10
const FETCH_MS = 60_000

export type FilesIn = {
  attachments: Attachment[]
  /** What the text says about files that are missing. */
  notes: string[]
}

/**
 * Throws while a file may still become available, and the row is retried. `isLast`: accept the message
 * without it.
 */
export async function takeFiles(
  deps: ChannelDeps,
  { adapter, name }: Connection,
  { seq }: InboundRow,
  session: SessionRow,
  files: readonly FileRef[],
  isLast: boolean,
): Promise<FilesIn> {
  const taken: FilesIn = { attachments: [], notes: [] }
  const most = adapter.limits.fileBytesIn
  for (const [at, file] of files.slice(0, MAX_FILES).entries()) {
    const filename = cleanName(file.name)
    const leave = (why: string): void => void taken.notes.push(`[attachment ${why}: ${filename}]`)
    if (adapter.fetchFile === undefined || (file.size ?? 0) > most) leave('is too large')
    else
      try {
        const bytes = await adapter.fetchFile(file, most, AbortSignal.timeout(FETCH_MS))
        const path = `inbox/${seq}${at === 0 ? '' : `-${at}`}-${filename}`
        const workspace = await makeSessionFolder(deps.workspacesDir, workspaceOf(session))
        await using located = await locate(workspace, path, 'write')
        await replaceFile(located, bytes)
        const { mime_type } = file
        taken.attachments.push({ path, filename, size: bytes.length, ...(mime_type ? { mime_type } : {}) })
      } catch (thrown) {
        if (!isLast) throw thrown
        const { message: error } = asError(thrown)
        deps.report('warn', 'failed to download a file of a channel', { connection: name, error })
        leave('could not be downloaded')
      }
  }
  // One line for all of them: an email may have a thousand.
  if (files.length > MAX_FILES)
    taken.notes.push(
      `[${files.length - MAX_FILES} attachments omitted: only the first ${MAX_FILES} are kept]`,
    )
  return taken
}
