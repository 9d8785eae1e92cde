/** Finds result files of our runs and the baseline's in a directory tree. */
import { readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'
import { RESULT_FILE, resultSchema, type BenchmarkResult } from '../result.ts'

/** One result file. */
export async function readResult(path: string): Promise<BenchmarkResult> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    throw new InputError(
      `${path}: expected a benchmark result in JSON: ` +
        `${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  const parsed = resultSchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new InputError(`${path}: not a benchmark's result: ${z.prettifyError(parsed.error)}`)
}

/** Reads one file, or every result.json below a directory, sorted so that later runs come last. */
export async function readResults(path: string): Promise<BenchmarkResult[]> {
  const results = await Promise.all((await listResultFiles(path)).map(readResult))
  return results.toSorted((a, b) => a.started_at.localeCompare(b.started_at))
}

/** The file itself, or every result.json below a directory. */
export async function listResultFiles(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(
      `${path}: no such file or directory; expected a ${RESULT_FILE} or a directory that contains some`,
      { cause: error },
    )
  })
  if (!found.isDirectory()) return [path]
  return (await readdir(path, { recursive: true }))
    .filter(name => name.split('/').at(-1) === RESULT_FILE)
    .map(name => join(path, name))
}
