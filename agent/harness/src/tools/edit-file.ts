/** edit_file: replaces one exact passage of a file, or every occurrence of it. */
import { locate, readText, replaceFile } from '@cairn/workspace'
import { z } from 'zod'
import { defineTool } from './parameters.ts'

export const editFileTool = defineTool({
  name: 'edit_file',
  description:
    'Replace `old_string` by `new_string` in a file of the workspace. `old_string` must occur exactly ' +
    'once, whitespace included, unless `replace_all` is true.',
  parameters: z.strictObject({
    path: z.string().min(1).describe('relative to the workspace'),
    old_string: z.string().min(1),
    new_string: z.string(),
    replace_all: z.boolean().optional(),
  }),
  readOnly: false,
  // A second run would not find the passage, or would find the wrong one.
  idempotent: false,
  paths: ['path'],
  mutatesFiles: true,
  async run({ path, old_string, new_string, replace_all = false }, { workspace }) {
    if (old_string === new_string) throw new Error('old_string and new_string are the same')
    await using at = await locate(workspace, path, 'write')
    const { shown } = at
    const text = await readText(at)
    const pieces = text.split(old_string)
    const found = pieces.length - 1
    if (found === 0)
      throw new Error(
        `old_string was not found in '${shown}'; it must match exactly, whitespace and line ends included`,
      )
    if (found > 1 && !replace_all)
      throw new Error(
        `old_string occurs ${found} times in '${shown}'; add surrounding lines to make it unique, or ` +
          'set replace_all',
      )
    await replaceFile(at, pieces.join(new_string))
    return { content: { path: shown, replaced: found } }
  },
})
