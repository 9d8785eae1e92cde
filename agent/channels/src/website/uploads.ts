/**
 * Files of a visitor. Each is stored in the inbox of the conversation's workspace, under a name that only its
 * upload returned, until a message refers to it.
 */
import { randomBytes } from 'node:crypto'
import type { SessionRow } from '@cairn/log'
import { AppError, type Attachment } from '@cairn/protocol'
import { workspaceOf } from '@cairn/sessions'
import { locate, makeSessionFolder, PathProblem, replaceFile } from '@cairn/workspace'
import { cleanName } from '../clean-name.ts'
import type { ChannelDeps } from '../deps.ts'

const INBOX = 'inbox'
const KEY = 6
const UPLOAD = /^[0-9a-f]{12}-[^/\\\p{Cc}]{1,100}$/u
/** Per conversation; budgets per address limit many conversations. */
const MAX_KEPT = 50

export type Upload = { upload_id: string; filename: string; size: number }
type Deps = Pick<ChannelDeps, 'workspacesDir'>

const folderOf = ({ workspacesDir }: Deps, session: SessionRow): Promise<string> =>
  makeSessionFolder(workspacesDir, workspaceOf(session))

export async function putUpload(
  deps: Deps,
  session: SessionRow,
  name: string,
  bytes: Uint8Array,
): Promise<Upload> {
  if (bytes.length === 0)
    throw new AppError('invalid_body', 'The file is empty: send its bytes as the request body.')
  const workspace = await folderOf(deps, session)
  if ((await countKept(workspace)) >= MAX_KEPT)
    throw new AppError('limit_reached', `A conversation can have at most ${MAX_KEPT} files: start a new one.`)
  const filename = cleanName(name)
  const upload_id = `${randomBytes(KEY).toString('hex')}-${filename}`
  await using located = await locate(workspace, `${INBOX}/${upload_id}`, 'write')
  await replaceFile(located, bytes)
  return { upload_id, filename, size: bytes.length }
}

async function countKept(workspace: string): Promise<number> {
  await using located = await locate(workspace, INBOX, 'read')
  if (located.stats === null || located.name === null) return 0
  await using inbox = await located.folder.child(located.name)
  return (await inbox.entries()).length
}

/** Throws AppError for an upload that does not belong to this conversation. */
export async function attachmentsOf(
  deps: Deps,
  session: SessionRow,
  uploads: readonly string[],
): Promise<Attachment[]> {
  if (uploads.length === 0) return []
  const workspace = await folderOf(deps, session)
  return Promise.all(uploads.map(upload => attachmentOf(workspace, upload)))
}

async function attachmentOf(workspace: string, upload: string): Promise<Attachment> {
  const absent = (): AppError =>
    new AppError('not_found', `Upload ${JSON.stringify(upload.slice(0, 120))} not found.`)
  if (!UPLOAD.test(upload)) throw absent()
  const path = `${INBOX}/${upload}`
  try {
    await using located = await locate(workspace, path, 'read')
    if (located.stats?.isFile() !== true) throw absent()
    return { path, filename: upload.slice(2 * KEY + 1), size: located.stats.size }
  } catch (error) {
    // The agent may have replaced the file since the upload.
    if (error instanceof PathProblem) throw absent()
    throw error
  }
}
