/**
 * The pictures of tool results that the model is shown: the newest ones, read from the workspace for each
 * request. A file that is gone, has changed to something else, or is too large for model servers is left out;
 * the text of the result still has its path.
 */
import type { Image, ResultPicture } from '@cairn/protocol'
import type { Conversation } from '@cairn/state'
import { locate, openFile, PathProblem } from '@cairn/workspace'
import { pictureOf } from '../tools/picture.ts'

/** By the id of the call. */
export type ResultImages = ReadonlyMap<string, readonly { path: string; image: Image }[]>

const MAX_IMAGES = 10
/** Anthropic accepts 5 MB of base64 and 8,000 pixels a side. */
const MAX_IMAGE_BYTES = 3_750_000
const MAX_SIDE = 8000
/** Bytes of all images of one request, because some servers accept at most 20 MB. */
const MAX_BYTES = 10_000_000

export async function loadResultImages(
  workspace: string,
  { entries }: Pick<Conversation, 'entries'>,
): Promise<ResultImages> {
  const images = new Map<string, { path: string; image: Image }[]>()
  let count = 0
  let bytes = 0
  for (const { message, pictures = [] } of entries.toReversed()) {
    if (message.role !== 'tool') continue
    const found: { path: string; image: Image }[] = []
    for (const { path } of pictures) {
      if (count === MAX_IMAGES) break
      const image = await readImage(workspace, path)
      if (image === null || bytes + image.data.length > MAX_BYTES) continue
      count += 1
      bytes += image.data.length
      found.push({ path, image })
    }
    if (found.length > 0) images.set(message.tool_call_id, found)
  }
  return images
}

async function readImage(workspace: string, path: ResultPicture['path']): Promise<Image | null> {
  try {
    await using at = await locate(workspace, path, 'read')
    if ((at.stats?.size ?? 0) > MAX_IMAGE_BYTES) return null
    await using file = await openFile(at)
    const bytes = await file.read(MAX_IMAGE_BYTES)
    const picture = pictureOf(bytes)
    if (picture === null || Math.max(picture.width, picture.height) > MAX_SIDE) return null
    return { mime_type: picture.mime_type, data: bytes.toString('base64') }
  } catch (error) {
    if (error instanceof PathProblem) return null
    throw error
  }
}
