/** Parts of a long measurement, kept as they end, so that an interrupted one goes on where it was. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeTextAtomically } from '@cairn-tune/weights'
import { z } from 'zod'

/**
 * Reads the file when it was made of the same things, else measures and writes it. `madeOf` is whatever
 * decides the value; `fresh` measures in any case.
 */
export async function readOrMeasure<T>(
  { path, madeOf, schema, fresh }: { path: string; madeOf: unknown; schema: z.ZodType<T>; fresh: boolean },
  measure: () => Promise<T>,
): Promise<T> {
  const key = createHash('sha256').update(JSON.stringify(madeOf)).digest('hex')
  if (!fresh) {
    const stored = z.object({ key: z.literal(key), value: schema }).safeParse(await readJson(path))
    if (stored.success) return stored.data.value
  }
  const value = await measure()
  await writeTextAtomically(path, `${JSON.stringify({ key, value })}\n`)
  return value
}

/** Undefined where there is no file, or one that was cut: both are measured again. */
async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
