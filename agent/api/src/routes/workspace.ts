/**
 * Files of a session's workspace, read only. The agent writes there, so nothing in it is to be trusted: a
 * path is resolved with all its links before it is opened, and must still lie inside.
 */
import { constants } from 'node:fs'
import { open, readdir, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, resolve, sep } from 'node:path'
import { AppError } from '@cairn/protocol'
import type { Services } from '../deps.ts'
import type { Handler } from '../handler.ts'

const MAX_ENTRIES = 5000
const MAX_DEPTH = 12
const MAX_TEXT = 500_000
const MAX_IMAGE = 10 * 1024 * 1024
const IMAGES = new Set(['.png', '.jpg', '.jpeg', '.gif', '.webp'])

const rootOf = ({ dataDir }: Services, sessionId: string): string => resolve(dataDir, 'workspaces', sessionId)
const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '')
const isInside = (root: string, path: string): boolean => path === root || path.startsWith(root + sep)

type Entry = { path: string; kind: 'file' | 'dir'; size?: number }

export const workspaceTree: Handler<'workspaceTree'> = async ({ services, principal, params }) => {
  await services.door.check(principal, params.id)
  const root = rootOf(services, params.id)
  const entries: Entry[] = []
  let truncated = false

  async function walk(dir: string, depth: number): Promise<void> {
    const found = await readdir(dir, { withFileTypes: true }).catch((error: unknown) => {
      // A directory may go away while it is looked through; a workspace that nobody has written to is not
      // there at all.
      if (isMissing(error)) return []
      throw error
    })
    for (const entry of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entries.length >= MAX_ENTRIES) {
        truncated = true
        return
      }
      const full = join(dir, entry.name)
      const path = relative(root, full).split(sep).join('/')
      if (entry.isDirectory()) {
        entries.push({ path, kind: 'dir' })
        if (depth < MAX_DEPTH) await walk(full, depth + 1)
        else truncated = true
      } else if (entry.isFile()) {
        const size = await stat(full).then(
          found => found.size,
          (error: unknown) => {
            if (isMissing(error)) return undefined
            throw error
          },
        )
        entries.push(size === undefined ? { path, kind: 'file' } : { path, kind: 'file', size })
      }
    }
  }
  await walk(root, 1)
  return { entries, truncated }
}

export const workspaceFile: Handler<'workspaceFile'> = async ({ services, principal, params, query }) => {
  await services.door.check(principal, params.id)
  const absent = new AppError(
    'not_found',
    `There is no file ${JSON.stringify(query.path.slice(0, 200))} in the workspace.`,
  )
  if (query.path.includes('\0')) throw absent
  try {
    const root = await realpath(rootOf(services, params.id))
    const path = await realpath(resolve(root, query.path))
    if (!isInside(root, path)) throw absent
    // O_NOFOLLOW: the path has no links left, so one that appears now was put there to lead us out.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const found = await file.stat()
      if (!found.isFile()) throw absent
      const isImage = IMAGES.has(extname(path).toLowerCase())
      if (isImage && found.size > MAX_IMAGE)
        throw new AppError('wrong_target', `The image has ${found.size} bytes; up to ${MAX_IMAGE} are shown.`)
      const most = isImage ? MAX_IMAGE : MAX_TEXT
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(Math.min(found.size, most)),
        0,
        Math.min(found.size, most),
        0,
      )
      const bytes = buffer.subarray(0, bytesRead)
      const shown = {
        path: relative(root, path).split(sep).join('/'),
        size: found.size,
        truncated: found.size > most,
      }
      if (isImage) return { ...shown, encoding: 'base64' as const, content: bytes.toString('base64') }
      if (bytes.includes(0))
        return { ...shown, encoding: 'base64' as const, content: bytes.toString('base64') }
      return { ...shown, encoding: 'utf-8' as const, content: wholeCharacters(bytes, shown.truncated) }
    } finally {
      await file.close()
    }
  } catch (error) {
    if (isMissing(error)) throw absent
    throw error
  }
}

/** Text of bytes that may have been cut inside a character. */
function wholeCharacters(bytes: Buffer, isCut: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: isCut })
}
