/** search_files: lines of workspace files that match a regular expression. */
import { runInThread } from '@cairn/log/run-in-thread'
import { moduleBeside } from '@cairn/tooling/beside'
import { locate, openFolder } from '@cairn/workspace'
import type { OpenFolder } from '@cairn/workspace/files-below'
import { z } from 'zod'
import { defineTool } from './parameters.ts'

export type SearchJob = {
  /** Stays open while the search runs. */
  top: OpenFolder
  /** Search only this file of `top`. */
  file: string | undefined
  pattern: string
  ignoreCase: boolean
  glob: string | undefined
  maxMatches: number
}
export type SearchFound =
  | { kind: 'matches'; file: string; found: { line: number; text: string }[] }
  | { kind: 'done'; searched: number; skipped: number; full: boolean }

const MAX_MATCHES = 200
const TIME_LIMIT_MS = 10_000

type Ending = Extract<SearchFound, { kind: 'done' }> | 'too slow'

/** Runs a search in its own thread; matches found before the timeout are kept. */
async function runSearch(
  job: SearchJob,
  timeLimitMs: number,
  signal: AbortSignal,
): Promise<{ matches: string[]; ending: Ending }> {
  const matches: string[] = []
  let ending: Ending = 'too slow'
  const script = moduleBeside(import.meta, './search-worker')
  await runInThread<SearchFound>(script, job, { timeLimitMs, signal }, message => {
    if (message.kind === 'done') {
      ending = message
      return true
    }
    for (const { line, text } of message.found) matches.push(`${message.file}:${line}: ${text}`)
    return false
  })
  return { ending, matches }
}

/** The tool with its timeout, which tests shorten. */
export const searchFilesTool = (timeLimitMs = TIME_LIMIT_MS) =>
  defineTool({
    name: 'search_files',
    description:
      'Find lines that match a regular expression (JavaScript syntax, case-sensitive) in the files of ' +
      `the workspace. At most ${MAX_MATCHES} matches; binary and very large files are left out, and so ` +
      'are .git and node_modules.',
    parameters: z.strictObject({
      pattern: z.string().min(1).max(1000),
      path: z.string().min(1).optional().describe('a folder or a file; default: the workspace'),
      glob: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe('only files of this name or path, for example "*.ts" or "src/**/*.md"'),
      ignore_case: z.boolean().optional(),
    }),
    readOnly: true,
    idempotent: true,
    paths: ['path'],
    async run({ pattern, path = '.', glob, ignore_case = false }, { workspace, signal }) {
      try {
        RegExp(pattern, 'u')
      } catch (error) {
        throw new Error(
          'the pattern is not a valid regular expression: ' +
            `${error instanceof Error ? error.message : String(error)}`,
          { cause: error },
        )
      }
      await using found = await locate(workspace, path, 'read')
      const { shown } = found
      if (found.stats === null) throw new Error(`no file or folder '${shown}' in the workspace`)
      await using folder = await openFolder(found)
      const isFolder = folder !== null
      const job = {
        top: (folder ?? found.folder).place,
        file: isFolder ? undefined : (found.name ?? undefined),
        pattern,
        ignoreCase: ignore_case,
        glob,
        maxMatches: MAX_MATCHES,
      }
      const { matches, ending } = await runSearch(job, timeLimitMs, signal)
      if (ending === 'too slow' && matches.length === 0)
        throw new Error(
          `the search took longer than ${timeLimitMs / 1000} s; the pattern may backtrack without end, ` +
            'or there is too much to search: make it simpler or name a path',
        )
      const prefix = isFolder && shown !== '.' ? `${shown}/` : ''
      return {
        content: {
          matches: matches.map(match => prefix + match),
          ...(ending === 'too slow'
            ? { incomplete: `stopped after ${timeLimitMs / 1000} s` }
            : {
                files_searched: ending.searched,
                ...(ending.skipped > 0 ? { files_left_out: ending.skipped } : {}),
                ...(ending.full ? { incomplete: `stopped at ${MAX_MATCHES} matches` } : {}),
              }),
        },
      }
    },
  })
