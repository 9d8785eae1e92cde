/** The text files of a model directory, derived from a GGUF file. */
import { configOf } from './config.ts'
import { openGguf, type GgufFile } from './gguf-file.ts'
import { tokenizerFiles } from './tokenizer-files.ts'
import { readVocabulary, templatesOf } from './vocabulary.ts'

const json = (value: unknown) => `${JSON.stringify(value)}\n`
const tokenizerOf = ({ path, metadata }: GgufFile) => tokenizerFiles(path, readVocabulary(path, metadata))

const TEXTS: Record<string, (file: GgufFile) => string | undefined | Promise<string>> = {
  'config.json': async file => json(await configOf(file)),
  'tokenizer.json': file => json(tokenizerOf(file).tokenizer),
  'tokenizer_config.json': file => json(tokenizerOf(file).config),
  'chat_template.jinja': ({ metadata }) => metadata.text('tokenizer.chat_template'),
  'chat_template.json': ({ metadata }) => {
    const { default: _own, ...named } = templatesOf(metadata)
    return Object.keys(named).length === 0 ? undefined : json({ chat_template: named })
  },
}

/** Undefined if a directory would not have the file. */
export async function readGgufText(path: string, name: string): Promise<string | undefined> {
  const make = TEXTS[name]
  if (!make) return undefined
  const file = await openGguf(path)
  try {
    return await make(file)
  } finally {
    await file.close()
  }
}
