/** The option --chat-template. */
import { readFile } from 'node:fs/promises'
import { InputError } from '@cairn-tune/weights'

/** Reads a file, or takes the text as the template itself: no file has a name like a template. */
export async function readTemplate(given: string | undefined): Promise<string | undefined> {
  if (given === undefined || given.includes('{{') || given.includes('{%')) return given
  return await readFile(given, 'utf8').catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`--chat-template ${given}: cannot read the file: ${why}`, { cause })
  })
}
