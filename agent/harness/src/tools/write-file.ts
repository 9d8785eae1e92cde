/** write_file: creates or replaces a whole file of the workspace. */
import { locate, MAX_FILE_BYTES, replaceFile } from '@cairn/workspace'
import { z } from 'zod'
import { encodeText } from './encode-text.ts'
import { defineTool } from './parameters.ts'

export const writeFileTool = defineTool({
  name: 'write_file',
  description:
    'Create a file in the workspace, or replace a whole file. Missing folders are created. To change a ' +
    'part of a file, use edit_file.',
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
    const bytes = encodeText('content', content)
    if (bytes.length > MAX_FILE_BYTES)
      throw new Error(`the content has ${bytes.length} bytes; at most ${MAX_FILE_BYTES} are written at once`)
    await using at = await locate(workspace, path, 'write')
    const { created } = await replaceFile(at, bytes)
    return { content: { path: at.shown, bytes: bytes.length, created } }
  },
})
