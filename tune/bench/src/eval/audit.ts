/**
 * Every generation of an evaluation, one JSON line each, written as it arrives.
 *
 * The first line identifies the questions and the server. The file of another evaluation is never continued,
 * and is replaced only if it has no generation. A line truncated by a crash is removed and its question asked
 * again.
 */
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'

const generationSchema = z.object({
  index: z.int().nonnegative(),
  question: z.string(),
  reference: z.string(),
  prompt: z.string(),
  reply: z.string(),
  finish_reason: z.string().optional(),
  prompt_tokens: z.number().optional(),
  completion_tokens: z.number().optional(),
  /** By filter: the answer extracted from the reply, and whether it is right. */
  extracted: z.record(z.string(), z.string()),
  is_right: z.record(z.string(), z.boolean()),
})
export type Generation = z.infer<typeof generationSchema>

const headerSchema = z.looseObject({ fingerprint: z.string() })

export type Audit = {
  /** By index. */ done: Map<number, Generation>
  append: (generation: Generation) => Promise<void>
  close: () => Promise<void>
}

/** Opens the audit file at a path and reads the generations that it has. */
export async function openAudit(
  path: string,
  header: { fingerprint: string } & Record<string, unknown>,
): Promise<Audit> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  })
  const all = text.slice(0, text.lastIndexOf('\n') + 1)
  const isOther = all !== '' && !isHeaderOf(path, all.slice(0, all.indexOf('\n')), header.fingerprint)
  if (isOther && all.indexOf('\n') < all.length - 1) throw notOurs(path)
  const whole = isOther ? '' : all
  const [first, ...lines] = whole.split('\n').slice(0, -1)
  const done = new Map(
    lines
      .map((line, i) => parseGeneration(path, line, i + 2))
      .map(generation => [generation.index, generation]),
  )
  const file = await open(path, 'a')
  await file.truncate(Buffer.byteLength(whole))
  if (first === undefined) await appendLine(file, header)
  return { done, append: generation => appendLine(file, generation), close: () => file.close() }
}

/** One write call per line, so that lines of several replies never mix. */
const appendLine = (file: FileHandle, value: object) => file.appendFile(`${JSON.stringify(value)}\n`)

const notOurs = (path: string) =>
  new InputError(
    `${path}: contains another evaluation (other model, server or questions); ` +
      'give another output path or delete the file',
  )

function isHeaderOf(path: string, line: string, fingerprint: string): boolean {
  const header = headerSchema.safeParse(parseLine(path, line, 1))
  if (!header.success) throw notOurs(path)
  return header.data.fingerprint === fingerprint
}

function parseGeneration(path: string, line: string, number: number): Generation {
  const parsed = generationSchema.safeParse(parseLine(path, line, number))
  if (parsed.success) return parsed.data
  throw new InputError(`${path}:${number}: not a generation: ${z.prettifyError(parsed.error)}`)
}

function parseLine(path: string, line: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new InputError(`${path}:${number}: not JSON`, { cause: error })
  }
}
