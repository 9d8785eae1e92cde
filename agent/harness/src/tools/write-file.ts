/** write_file: creates or replaces a whole file of the workspace. */
import { type Located, locate, MAX_FILE_BYTES, openFile, PathProblem, replaceFile } from '@cairn/workspace'
import { z } from 'zod'
import { encodeText } from './encode-text.ts'
import { defineTool } from './parameters.ts'
import { encodeLike, type TextFormat, textFormat } from './text-format.ts'

export const writeFileTool = defineTool({
  name: 'write_file',
  description:
    'Create a file in the workspace, or replace a whole file. Missing folders are created. To change a ' +
    'part of a file, use edit_file. A replaced file keeps its line ends, byte order mark and UTF-16.',
  parameters: z.strictObject({
    path: z.string().min(1).describe('relative to the workspace'),
    content: z.string(),
  }),
  readOnly: false,
  // Writing the same content again gives the same file.
  idempotent: true,
  paths: ['path'],
  mutatesFiles: true,
  async run({ path, content }, { workspace }) {
    const plain = encodeText('content', content)
    await using at = await locate(workspace, path, 'write')
    const format = await formatOf(at)
    const { bytes, kept } = format === null ? { bytes: plain, kept: [] } : encodeLike(format, content)
    if (bytes.length > MAX_FILE_BYTES)
      throw new Error(`the content has ${bytes.length} bytes; at most ${MAX_FILE_BYTES} are written at once`)
    const { created } = await replaceFile(at, bytes)
    const isConverted = format?.charset === 'unknown' && plain.length !== content.length
    return {
      content: {
        path: at.shown,
        bytes: bytes.length,
        created,
        ...(kept.length === 0 ? {} : { kept: kept.join(', ') }),
        ...(isConverted ? { encoding: 'UTF-8; the replaced file was not UTF-8' } : {}),
      },
    }
  },
})

/** The form of the file to replace; null: it does not exist, or is not text. */
async function formatOf(at: Located): Promise<TextFormat | null> {
  if (at.stats?.isFile() !== true || at.stats.size > MAX_FILE_BYTES) return null
  try {
    await using file = await openFile(at)
    return textFormat(await file.read(MAX_FILE_BYTES))
  } catch (error) {
    // A file that may be replaced but not read, or that has just been removed.
    if (error instanceof PathProblem) return null
    throw error
  }
}
