/** The data sets that a dataset_info.json of LLaMA-Factory lists, each a subset with a name. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '@cairn-tune/weights'
import { z } from 'zod'
import { roleOf } from './conversations.ts'
import type { Subset } from './subset.ts'

const entry = z.looseObject({
  file_name: z.string(),
  formatting: z.string().default('alpaca'),
  columns: z.record(z.string(), z.string().nullable()).default({}),
  tags: z.record(z.string(), z.string()).default({}),
})
type Entry = z.infer<typeof entry>

/** Undefined without such a file, or if the datasets library wrote it. `names` are the data files. */
export async function readIndex(directory: string, names: readonly string[]): Promise<Subset[] | undefined> {
  const path = join(directory, 'dataset_info.json')
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const subsets = Object.entries(objectOf(path, text)).flatMap(([name, value]): Subset[] => {
    const parsed = entry.safeParse(value)
    if (!parsed.success) return []
    const { file_name: file } = parsed.data
    const files = names.filter(one => one === file || one.startsWith(`${file}/`))
    if (files.length === 0) return []
    return [
      {
        name,
        isDefault: false,
        splits: new Map([['train', files]]),
        files,
        get columns() {
          return columnsOf(`${path}: ${name}`, parsed.data)
        },
      },
    ]
  })
  return subsets.length > 0 ? subsets : undefined
}

function objectOf(path: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new InputError(`${path}: not JSON`, { cause: error })
  }
  throw new InputError(`${path}: must be a JSON object`)
}

/** Our column for each of theirs. */
const COLUMNS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  alpaca: {
    prompt: 'instruction',
    query: 'input',
    response: 'output',
    system: 'system',
    history: 'history',
    chosen: 'chosen',
    rejected: 'rejected',
    kto_tag: 'label',
    tools: 'tools',
  },
  sharegpt: {
    messages: 'conversations',
    system: 'system',
    tools: 'tools',
    chosen: 'chosen',
    rejected: 'rejected',
    kto_tag: 'label',
  },
}

const KEYS = new Set(['file_name', 'formatting', 'columns', 'tags', 'ranking', 'split'])
/** Tags whose value is a key of a message, with the keys that are read. */
const KEY_TAGS: Readonly<Record<string, readonly string[]>> = {
  role_tag: ['from', 'role'],
  content_tag: ['value', 'content'],
}
const ROLE_TAGS: Readonly<Record<string, string>> = {
  user_tag: 'user',
  assistant_tag: 'assistant',
  observation_tag: 'tool',
  function_tag: 'assistant',
  system_tag: 'system',
}

function columnsOf(where: string, { formatting, columns, tags, ...rest }: Entry): string[] {
  const known = COLUMNS[formatting]
  if (!known) throw new InputError(`${where}: unknown formatting ${JSON.stringify(formatting)}`)
  const other = Object.keys(rest).find(key => !KEYS.has(key))
  if (other !== undefined) throw new InputError(`${where}: the key ${JSON.stringify(other)} is not supported`)
  for (const [tag, value] of Object.entries(tags)) {
    const isKnown = KEY_TAGS[tag]?.includes(value) ?? (tag in ROLE_TAGS && roleOf(value) === ROLE_TAGS[tag])
    if (!isKnown) throw new InputError(`${where}: the tag ${tag}: ${JSON.stringify(value)} is not supported`)
  }
  return Object.entries(columns).flatMap(([theirs, name]) => {
    if (name === null || name === '') return []
    const ours = known[theirs]
    if (ours === undefined)
      throw new InputError(`${where}: the column ${JSON.stringify(theirs)} is not supported`)
    return ours === name ? [] : [`${ours}=${name}`]
  })
}
