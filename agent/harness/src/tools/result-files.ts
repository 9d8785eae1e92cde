/** Files that are part of a tool's result, such as pictures. They are saved beside long results. */
import { asError, type ResultPicture } from '@cairn/protocol'
import { locate, replaceFile } from '@cairn/workspace'
import { resultPath } from './cut-result.ts'
import { pictureOf } from './picture.ts'

export type ResultFile = {
  /** What the server calls it. */
  kind: string
  mime_type: string
  bytes: Buffer
  /** Extension of the original file name, without the dot; empty if it has none. */
  extension: string
}
export type SavedFile = {
  /** What the model reads about the file. */
  text: string
  /** Present if it is a picture that models read. */
  picture?: ResultPicture
}
type SaveTo = {
  workspace: string
  tool_call_id: string
  /** Rejects if this number of bytes does not fit in the workspace. */
  mustFit(workspace: string, bytes: number): Promise<void>
}

const MAX_FILES = 20
const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
  'audio/wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'video/mp4': 'mp4',
  'application/pdf': 'pdf',
  'application/zip': 'zip',
  'application/json': 'json',
  'text/plain': 'txt',
  'text/csv': 'csv',
  'text/html': 'html',
}

/** Saves the file that is at this position among those of the result; never rejects. */
export async function saveResultFile(file: ResultFile, at: number, to: SaveTo): Promise<SavedFile> {
  const { kind, bytes } = file
  const picture = pictureOf(bytes)
  const mime_type = picture?.mime_type ?? file.mime_type
  const about = `${kind}: ${mime_type}, ${bytes.length} bytes`
  if (at >= MAX_FILES) return { text: `[${about}, not saved: at most ${MAX_FILES} files of a result are]` }
  const extension = EXTENSIONS[mime_type] ?? (file.extension || 'bin')
  const path = resultPath(to.tool_call_id, `-${at + 1}.${extension}`)
  try {
    await to.mustFit(to.workspace, bytes.length)
    await using found = await locate(to.workspace, path, 'own')
    await replaceFile(found, bytes)
  } catch (error) {
    return { text: `[${about}, not saved: ${asError(error).message}]` }
  }
  const text = `[${about}, saved as ${path}]`
  return picture === null ? { text } : { text, picture: { path, mime_type: picture.mime_type } }
}
