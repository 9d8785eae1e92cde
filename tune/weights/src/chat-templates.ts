/**
 * The chat templates of a model, by name, from every place where transformers finds one. The template
 * `default` has no other name; `tool_use` is for conversations with tools.
 */
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { InputError } from './errors.ts'
import { isMissing } from './fs-errors.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { readModelText } from './model-texts.ts'

export type ChatTemplates = Readonly<Record<string, string>>

/** `chat_template` of tokenizer_config.json or chat_template.json: one template, or some with names. */
export const chatTemplateSchema = z
  .union([
    z.string(),
    z.array(z.looseObject({ name: z.string(), template: z.string() })),
    z.record(z.string(), z.string()),
  ])
  .nullish()

function namedTemplates(given: z.infer<typeof chatTemplateSchema>): ChatTemplates {
  if (given === null || given === undefined) return {}
  if (typeof given === 'string') return { default: given }
  return Array.isArray(given)
    ? Object.fromEntries(given.map(({ name, template }) => [name, template]))
    : given
}

const ADDITIONAL_TEMPLATES = 'additional_chat_templates'
const SUFFIX = '.jinja'

/** Templates of the folder additional_chat_templates, whose names are those of the files. */
async function additionalTemplates(model: string): Promise<ChatTemplates> {
  if (isGgufPath(model)) return {}
  const folder = join(model, ADDITIONAL_TEMPLATES)
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const files = names.filter(name => name.endsWith(SUFFIX)).toSorted()
  const texts = await Promise.all(files.map(name => readFile(join(folder, name), 'utf8')))
  return Object.fromEntries(files.map((name, i) => [name.slice(0, -SUFFIX.length), texts[i] ?? '']))
}

/**
 * Templates in files of their own come first, then those of tokenizer_config.json, which `inConfig`
 * holds, then those of chat_template.json.
 */
export async function readChatTemplates(
  model: string,
  inConfig: z.infer<typeof chatTemplateSchema>,
): Promise<ChatTemplates> {
  const own = await readModelText(model, 'chat_template.jinja')
  const additional = await additionalTemplates(model)
  const inFiles = { ...additional, ...(own === undefined ? {} : { default: own }) }
  const inJson = namedTemplates(await readTemplateJson(model))
  return Object.keys(inFiles).length > 0 && !isGgufPath(model)
    ? inFiles
    : { ...inJson, ...namedTemplates(inConfig), ...inFiles }
}

async function readTemplateJson(model: string): Promise<z.infer<typeof chatTemplateSchema>> {
  const text = await readModelText(model, 'chat_template.json')
  if (text === undefined) return undefined
  const path = join(model, 'chat_template.json')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new InputError(`${path}: not JSON`, { cause: error })
  }
  const parsed = z.looseObject({ chat_template: chatTemplateSchema }).safeParse(value)
  if (!parsed.success) throw new InputError(`${path}: ${z.prettifyError(parsed.error)}`)
  return parsed.data.chat_template
}

/** All templates of a model that are in no other file, for a hash. */
export const templatesText = async (model: string): Promise<string> =>
  JSON.stringify([await additionalTemplates(model), await readModelText(model, 'chat_template.json')])

/** Copies the folder additional_chat_templates, if the model has one. */
export async function copyTemplates(from: string, to: string): Promise<void> {
  const templates = Object.entries(await additionalTemplates(from))
  if (templates.length === 0) return
  await mkdir(join(to, ADDITIONAL_TEMPLATES), { recursive: true })
  for (const [name, text] of templates)
    await writeFile(join(to, ADDITIONAL_TEMPLATES, `${name}${SUFFIX}`), text)
}
