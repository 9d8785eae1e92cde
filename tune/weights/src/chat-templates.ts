/**
 * The chat templates of a model, by name, from every place where transformers finds one. The template
 * `default` has no other name; `tool_use` is for conversations with tools.
 */
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { ChatTemplates } from './chat.ts'
import { InputError } from './errors.ts'
import { isMissing } from './fs-errors.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { readModelText } from './model-texts.ts'

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
  const inJson = namedTemplates(await readTemplateKey(model, 'chat_template.json'))
  return Object.keys(inFiles).length > 0 && !isGgufPath(model)
    ? inFiles
    : { ...inJson, ...namedTemplates(inConfig), ...inFiles }
}

/** The templates of a directory or GGUF file, with or without a tokenizer. Undefined if it has none. */
export async function templatesIn(directory: string): Promise<ChatTemplates | undefined> {
  const inConfig = await readTemplateKey(directory, 'tokenizer_config.json')
  const templates = await readChatTemplates(directory, inConfig)
  return Object.keys(templates).length === 0 ? undefined : templates
}

/** `chat_template` of a JSON file. Undefined if the file or the key is missing. */
async function readTemplateKey(
  model: string,
  name: 'chat_template.json' | 'tokenizer_config.json',
): Promise<z.infer<typeof chatTemplateSchema>> {
  const text = await readModelText(model, name)
  if (text === undefined) return undefined
  const path = join(model, name)
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

/**
 * Writes templates as transformers saves them, each in its own file, and removes all others, some of which
 * would take precedence in other programs.
 */
export async function writeTemplates(templates: ChatTemplates, to: string): Promise<void> {
  const names = Object.keys(templates).filter(name => name !== 'default')
  const unsafe = names.find(name => !/^\w[\w.-]*$/.test(name))
  if (unsafe !== undefined)
    throw new InputError(
      `chat template ${JSON.stringify(unsafe)}: its name must be letters, digits, _, . and -, because it ` +
        'becomes a file name',
    )
  await rm(join(to, 'chat_template.json'), { force: true })
  await rm(join(to, 'chat_template.jinja'), { force: true })
  await rm(join(to, ADDITIONAL_TEMPLATES), { recursive: true, force: true })
  await removeConfigTemplate(join(to, 'tokenizer_config.json'))
  if (templates['default'] !== undefined)
    await writeFile(join(to, 'chat_template.jinja'), templates['default'])
  if (names.length > 0) await mkdir(join(to, ADDITIONAL_TEMPLATES))
  for (const name of names)
    await writeFile(join(to, ADDITIONAL_TEMPLATES, `${name}${SUFFIX}`), templates[name] ?? '')
}

async function removeConfigTemplate(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '{}'
    throw error
  })
  const { chat_template: removed, ...rest } = JSON.parse(text) as Record<string, unknown>
  if (removed !== undefined) await writeFile(path, `${JSON.stringify(rest, null, 2)}\n`)
}
