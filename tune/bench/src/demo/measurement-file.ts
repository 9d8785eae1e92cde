/** Saves each part of a long measurement when it ends, so that an interrupted measurement resumes. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { writeTextAtomically } from '@cairn-tune/weights'
import { z } from 'zod'

/**
 * Reads the file if it was made from the same inputs. Otherwise measures and writes it. `madeOf` holds
 * everything that determines the value; `fresh` always measures.
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

/** Undefined if the file does not exist or is truncated. Both cases are measured again. */
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
