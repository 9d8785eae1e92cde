/**
 * Compares the rows that Cairn Tune reads with those of the datasets library.
 * Run: node compare_data_formats.ts DIRECTORY, after make_data_formats.py DIRECTORY.
 */
import { readFileSync, statSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { InputError } from '@cairn-tune/weights'
import { findDataFiles } from '../../src/data/dataset-files.ts'
import { readFileRows } from '../../src/data/read-rows.ts'
import { plainValue } from './plain-values.ts'

type Case = {
  name: string
  path: string
  split: string
  subset: string | null
  rows?: Record<string, unknown>[]
  error?: string
}

const cases = JSON.parse(readFileSync(`${process.argv[2]}/expected.json`, 'utf8')) as Case[]

async function read({ path, split, subset }: Case): Promise<unknown[]> {
  const { files } = statSync(path).isDirectory()
    ? await findDataFiles(path, { split, subset: subset ?? undefined })
    : { files: [path] }
  const rows: unknown[] = []
  for (const file of files)
    for await (const some of readFileRows(file))
      rows.push(...some.map(row => ('values' in row ? plainValue(row.values) : row.reason)))
  return rows
}

const counts = { equal: 0, refused: 0, 'both refused': 0, differs: 0 }
for (const one of cases) {
  const got = await read(one).catch((error: unknown) => {
    if (error instanceof InputError) return error.message
    throw error
  })
  const verdict =
    typeof got === 'string'
      ? one.rows
        ? 'refused'
        : 'both refused'
      : isDeepStrictEqual(got, one.rows)
        ? 'equal'
        : 'differs'
  counts[verdict]++
  if (verdict === 'equal') continue
  process.stdout.write(
    `${verdict}: ${one.name}\n  judge ${JSON.stringify(one.rows ?? one.error)?.slice(0, 700)}\n  here  ` +
      `${JSON.stringify(got)?.slice(0, 700)}\n`,
  )
}
process.stdout.write(`${JSON.stringify(counts)}\n`)
