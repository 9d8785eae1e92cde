/** Uploads into a workspace, and the contents of files before the agent changed them. */
import { join } from 'node:path'
import { AppError } from '@cairn/protocol'
import {
  getContent,
  locate,
  makeSessionFolder,
  NoCheckpoint,
  PathProblem,
  readCheckpoint,
  replaceFile,
  sessionFolder,
} from '@cairn/workspace'
import { workspaceOf } from '@cairn/sessions'
import type { Handler } from '../handler.ts'

const UPLOADS = 'uploads'
const MAX_TEXT = 500_000

/** A name without folders; path separators and control characters become hyphens. */
const plainName = (name: string): string => name.replace(/[/\\\p{Cc}]/gu, '-').replace(/^\.+/, '') || 'file'

export const putWorkspaceFile: Handler<'putWorkspaceFile'> = async ({
  services,
  principal,
  params,
  body,
}) => {
  await services.guard.check(principal, params.id)
  const session = await services.store.sessions.get(params.id)
  if (session === null || session.status === 'archived')
    throw new AppError('wrong_state', 'Cannot upload files to a session that has ended.')
  const root = await makeSessionFolder(services.workspacesDir, workspaceOf(session))
  const { path, place } = await freePlace(root, plainName(body.filename))
  await using at = place
  const bytes = Buffer.from(body.content, 'base64')
  await replaceFile(at, bytes)
  return {
    path,
    filename: body.filename,
    ...(body.mime_type === undefined ? {} : { mime_type: body.mime_type }),
    size: bytes.length,
  }
}

/** The name itself, or with a number if the file exists: an upload replaces nothing. */
async function freePlace(root: string, name: string) {
  const [, stem = name, extension = ''] = /^(.+?)(\.[^.]*)?$/.exec(name) ?? []
  for (let count = 1; count <= 1000; count++) {
    const path = `${UPLOADS}/${count === 1 ? name : `${stem}-${count}${extension}`}`
    try {
      const place = await locate(root, path, 'write')
      if (place.stats === null) return { path, place }
      await place[Symbol.asyncDispose]()
    } catch (error) {
      if (!(error instanceof PathProblem)) throw error
      throw new AppError('wrong_target', `Invalid file name: ${error.message}`)
    }
  }
  throw new AppError('wrong_target', `Too many files named ${JSON.stringify(name)}.`)
}

export const workspaceCheckpoint: Handler<'workspaceCheckpoint'> = async ({
  services,
  principal,
  params,
}) => {
  await services.guard.check(principal, params.id)
  const folder = sessionFolder(join(services.dataDir, 'checkpoints'), params.id)
  const absent = () => new AppError('not_found', 'Checkpoint not found in this session.')
  if (!/^[0-9a-f]{64}$/.test(params.hash)) throw absent()
  try {
    const manifest = await readCheckpoint(folder, params.hash)
    const files = await Promise.all(
      Object.entries(manifest).map(async ([path, kept]) => {
        if (kept === null) return { path, existed: false, size: 0, content: null }
        const bytes = await getContent(folder, kept.sha256)
        return { path, existed: true, size: bytes.length, content: textOf(bytes) }
      }),
    )
    return { files }
  } catch (error) {
    // An invalid manifest is reported like a missing checkpoint.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof NoCheckpoint) throw absent()
    throw error
  }
}

const textOf = (bytes: Buffer): string | null =>
  bytes.length > MAX_TEXT || bytes.includes(0) ? null : bytes.toString('utf8')
