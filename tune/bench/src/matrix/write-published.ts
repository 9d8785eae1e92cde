/** Writes the specification's throughput table from result files of several machines. */
import { join } from 'node:path'
import { InputError, makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import type { BenchmarkResult } from '../result.ts'
import { refusalOf } from './check-result.ts'
import { TABLES_NOTE, publishedTables, strangersOf } from './published-tables.ts'
import { listResultFiles, readResult } from './read-results.ts'
import { markdownOf } from './tables.ts'

export type PublishedTables = {
  markdown: string
  results: readonly BenchmarkResult[]
  /** Models of results that the table has no row for. */
  strangers: readonly string[]
}

/**
 * Reads files, and every result.json below directories. Throws with the name of each file that cannot enter
 * the table, and why; then nothing is written.
 */
export async function writePublished(paths: readonly string[], outputDir: string): Promise<PublishedTables> {
  const files = [...new Set((await Promise.all(paths.map(listResultFiles))).flat())]
  if (files.length === 0) throw new InputError(`${paths.join(', ')}: contains no result.json`)
  const results: BenchmarkResult[] = []
  const refused: string[] = []
  for (const file of files) {
    try {
      const result = await readResult(file)
      const why = refusalOf(result)
      if (why === undefined) results.push(result)
      else refused.push(`${file}: ${why}`)
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      refused.push(error.message)
    }
  }
  if (refused.length > 0)
    throw new InputError(
      [`${refused.length} of ${files.length} result files cannot enter the table:`, ...refused].join('\n'),
    )
  const tables = publishedTables(results)
  const markdown = ['# Throughput', '', TABLES_NOTE, '', ...tables.map(markdownOf)].join('\n')
  await makeDirectory(outputDir, 'output_dir')
  await writeTextAtomically(join(outputDir, 'matrix.md'), markdown)
  await writeTextAtomically(
    join(outputDir, 'matrix.json'),
    `${JSON.stringify({ schema: 1, tables, results }, null, 1)}\n`,
  )
  return { markdown, results, strangers: strangersOf(results) }
}
