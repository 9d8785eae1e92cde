/**
 * Sends an artifact as a file if the platform accepts its size; interactive artifacts are only shown in the
 * web UI.
 */
import { locate, openFile, PathProblem, sessionFolder } from '@cairn/workspace'
import type { ArtifactSpec } from '@cairn/protocol'
import { workspaceOf } from '@cairn/sessions'
import type { PartFile } from './adapter.ts'
import { cleanName } from './clean-name.ts'
import type { Piece } from './render.ts'
import type { Delivering } from './send-part.ts'

/** Null if only its name is sent, and it is opened in the web UI. */
export async function fileOf(
  { deps, connection }: Delivering,
  sessionId: string,
  { artifact_id }: Piece,
): Promise<PartFile | null> {
  const most = connection.adapter.limits.fileBytesOut
  if (artifact_id === undefined || most === 0) return null
  const artifact = await deps.store.artifacts.get(sessionId, artifact_id)
  const session = await deps.store.sessions.get(sessionId)
  if (artifact === null || session === null) return null
  const workspace = sessionFolder(deps.workspacesDir, workspaceOf(session))
  const body = await bodyOf(workspace, artifact.spec, most)
  if (body === null || body.bytes.length > most) return null
  return { name: cleanName(named(artifact.meta.name, body.extension)), ...body }
}

type Body = { mime_type: string; bytes: Uint8Array; extension: string }

async function bodyOf(workspace: string, spec: ArtifactSpec, most: number): Promise<Body | null> {
  switch (spec.kind) {
    case 'markdown':
      return { mime_type: 'text/markdown', bytes: Buffer.from(spec.content), extension: 'md' }
    case 'table':
      return { mime_type: 'text/csv', bytes: Buffer.from(csv(spec)), extension: 'csv' }
    case 'image':
      return imageOf(workspace, spec.path, most)
    default:
      return null
  }
}

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

async function imageOf(workspace: string, path: string, most: number): Promise<Body | null> {
  const extension = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  const mime_type = IMAGES[extension]
  if (mime_type === undefined) return null
  try {
    await using located = await locate(workspace, path, 'read')
    await using file = await openFile(located)
    return file.stats.size > most ? null : { mime_type, bytes: await file.read(most), extension }
  } catch (error) {
    // The agent has deleted the file; its name is still sent.
    if (error instanceof PathProblem) return null
    throw error
  }
}

const named = (name: string, extension: string): string =>
  name.toLowerCase().endsWith(`.${extension}`) ? name : `${name}.${extension}`

const csv = ({ columns, rows }: Extract<ArtifactSpec, { kind: 'table' }>): string =>
  [columns, ...rows].map(row => `${row.map(cell).join(',')}\r\n`).join('')
function cell(value: string | number | boolean | null): string {
  const text = value === null ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
