/** A chat template that a person names in an option. */
import { readFile } from 'node:fs/promises'
import { compileChatTemplate } from './chat-template.ts'
import { InputError } from './errors.ts'

/**
 * The text of a template: that of a file, or the given text if it is a template itself, which no file name
 * looks like. `option` names the setting in messages.
 */
export async function readTemplate(option: string, given: string): Promise<string> {
  if (given.includes('{{') || given.includes('{%')) return checked(option, given)
  const text = await readFile(given, 'utf8').catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(
      `${option} ${given}: cannot read the file: ${why}; give a Jinja file or the text of a template`,
      { cause },
    )
  })
  return checked(`${option} ${given}`, text)
}

function checked(where: string, text: string): string {
  try {
    compileChatTemplate(text, {})
    return text
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    throw new InputError(`${where}: ${error.message}`, { cause: error })
  }
}
