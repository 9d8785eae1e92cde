/** The subsets that a data set's card lists: `configs` in the header of README.md, as the hub reads it. */
import { readFile } from 'node:fs/promises'
import { join, matchesGlob } from 'node:path'
import { InputError } from '@cairn-tune/weights'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import type { Subset } from './subset.ts'

const paths = z.union([z.string().transform(path => [path]), z.array(z.string())])
const config = z.looseObject({
  config_name: z.string().default('default'),
  data_dir: z.string().optional(),
  data_files: z.union([paths, z.array(z.looseObject({ split: z.string(), path: paths }))]).optional(),
  default: z.boolean().optional(),
})
const header = z.looseObject({ configs: z.array(config).optional() })

/** The subsets of a card, or undefined without a card that lists some. `names` are the data files. */
export async function readCard(directory: string, names: readonly string[]): Promise<Subset[] | undefined> {
  const path = join(directory, 'README.md')
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  })
  const yaml = /^---\r?\n(.*?)\r?\n---/s.exec(text)?.[1]
  if (yaml === undefined) return undefined
  const configs = parseHeader(path, yaml)
  return configs && configs.length > 0 ? configs.map(one => subsetOf(one, names)) : undefined
}

function parseHeader(path: string, yaml: string): z.infer<typeof config>[] | undefined {
  const parsed = header.safeParse(yamlOf(path, yaml))
  if (parsed.success) return parsed.data.configs
  throw new InputError(`${path}: configs cannot be read: ${z.prettifyError(parsed.error)}`)
}

function yamlOf(path: string, yaml: string): unknown {
  try {
    return parseYaml(yaml) ?? {}
  } catch (error) {
    throw new InputError(`${path}: the header is not YAML`, { cause: error })
  }
}

function subsetOf(
  { config_name: name, data_dir: folder, data_files: given, default: isDefault }: z.infer<typeof config>,
  names: readonly string[],
): Subset {
  const below = folder === undefined ? '' : `${trim(folder)}/`
  const inside = names.filter(one => below === '/' || one.startsWith(below))
  const base = { name, isDefault: isDefault ?? name === 'default', columns: [] }
  if (given === undefined) return { ...base, splits: undefined, files: inside }
  const splits = new Map<string, string[]>()
  for (const entry of given) {
    const { split, path } = typeof entry === 'string' ? { split: 'train', path: [entry] } : entry
    const found = path.flatMap(pattern => {
      const whole = `${below === '/' ? '' : below}${trim(pattern)}`
      return names.filter(one => one === whole || one.startsWith(`${whole}/`) || matchesGlob(one, whole))
    })
    splits.set(split, [...new Set([...(splits.get(split) ?? []), ...found])])
  }
  return { ...base, splits, files: [...splits.values()].flat() }
}

/** A path without `./` at its start and a slash at its end. */
const trim = (path: string) =>
  path
    .replace(/^(?:\.?\/)+/, '')
    .replace(/\/+$/, '')
    .replace(/^\.$/, '')
