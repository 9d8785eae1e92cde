/**
 * Finds the files of a split in a directory: one that save_to_disk wrote, one with a card or an index that
 * lists its files, or one whose files and folders carry the names of splits and subsets. What could be meant
 * in two ways is an error that lists the choices.
 */
import { readFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError } from '@cairn-tune/weights'
import { readCard } from './dataset-card.ts'
import type { ColumnMap } from './shape-reader.ts'
import { readIndex } from './llama-factory.ts'
import { DATA_EXTENSIONS, formatOf } from './read-rows.ts'
import type { Subset } from './subset.ts'

export type DataChoice = { split: string; subset?: string | undefined }

/** Files in order. `columns` are the names of columns that the data set's own description gives. */
export type DataFiles = { files: string[]; columns: ColumnMap }

/** Files that describe a data set, or that the datasets library keeps beside it. */
const NOT_DATA = /^(?:(?:config|dataset_infos?|dataset_dict|state)\.json|cache-[0-9a-f]+.*\.arrow)$/

export async function findDataFiles(directory: string, choice: DataChoice): Promise<DataFiles> {
  const saved = await findSaved(directory, choice)
  if (saved) return { files: saved.map(name => join(directory, name)), columns: [] }
  const names = await listNames(directory)
  const data = names.filter(name => formatOf(name) !== undefined && !NOT_DATA.test(basename(name)))
  const listed = (await readCard(directory, data)) ?? (await readIndex(directory, data))
  const { files, columns } = listed
    ? filesOfSubset(directory, pickSubset(directory, listed, choice), choice)
    : { files: filesOfFolders(directory, data, choice), columns: [] }
  return { files: ofOneFormat(directory, files).map(name => join(directory, name)), columns }
}

/**
 * Files below the directory, without those whose path has a name that begins with a dot or two underscores.
 */
async function listNames(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true })
  return names.filter(name => !/(?:^|\/)(?:\.|__)/.test(name)).toSorted()
}

const readText = (path: string): Promise<string | undefined> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })

/** The Arrow files of a directory that save_to_disk wrote, for one data set or for each split. */
async function findSaved(directory: string, { split }: DataChoice): Promise<string[] | undefined> {
  const dictionary = await readText(join(directory, 'dataset_dict.json'))
  if (dictionary !== undefined) {
    const { splits = [] } = parseObject(join(directory, 'dataset_dict.json'), dictionary) as {
      splits?: string[]
    }
    if (!splits.includes(split)) throw noSplit(directory, split, splits)
    const files = await savedFiles(join(directory, split))
    return files?.map(name => join(split, name))
  }
  return await savedFiles(directory)
}

async function savedFiles(directory: string): Promise<string[] | undefined> {
  const path = join(directory, 'state.json')
  const text = await readText(path)
  if (text === undefined) return undefined
  const { _data_files: files } = parseObject(path, text) as { _data_files?: { filename: string }[] }
  return files?.map(({ filename }) => filename)
}

function parseObject(path: string, text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new InputError(`${path}: not JSON`, { cause: error })
  }
  throw new InputError(`${path}: must be a JSON object`)
}

const listOf = (names: Iterable<string>) => [...names].join(', ')

const MAX_LISTED = 12

const shortList = (names: readonly string[]) =>
  listOf(names.slice(0, MAX_LISTED)) + (names.length > MAX_LISTED ? ' and more' : '')

const noSplit = (directory: string, split: string, known: Iterable<string>) =>
  new InputError(
    `data set ${directory}: no split ${JSON.stringify(split)}; it has ${listOf(known)}; ` +
      'choose one with dataset_split',
  )

function pickSubset(directory: string, subsets: readonly Subset[], { subset }: DataChoice): Subset {
  const names = listOf(subsets.map(({ name }) => name))
  if (subset !== undefined) {
    const found = subsets.find(({ name }) => name === subset)
    if (found) return found
    throw new InputError(`data set ${directory}: no subset ${JSON.stringify(subset)}; it has ${names}`)
  }
  const usual = subsets.length === 1 ? subsets[0] : subsets.find(({ isDefault }) => isDefault)
  if (usual) return usual
  throw severalSubsets(directory, names)
}

const severalSubsets = (directory: string, names: string) =>
  new InputError(
    `data set ${directory}: has the subsets ${names}; choose one with dataset_subset, ` +
      'or combine several with dataset_mix',
  )

function filesOfSubset(
  directory: string,
  { splits, files, columns }: Subset,
  { split }: DataChoice,
): { files: readonly string[]; columns: ColumnMap } {
  if (!splits) return { files: filesOfFolders(directory, files, { split }), columns }
  const found = splits.get(split)
  if (!found) throw noSplit(directory, split, splits.keys())
  if (found.length === 0)
    throw new InputError(`data set ${directory}: the files of the split ${JSON.stringify(split)} are missing`)
  return { files: found, columns }
}

/** Words that name a split, alone or between separators. */
const SPLIT_WORDS: Readonly<Record<string, readonly string[]>> = {
  train: ['train', 'training'],
  validation: ['validation', 'valid', 'dev', 'val'],
  test: ['test', 'testing', 'eval', 'evaluation'],
}

const contains = (name: string, word: string) =>
  new RegExp(String.raw`(?:^|[-._ \d])${RegExp.escape(word)}(?:[-._ \d]|$)`, 'i').test(name)

const splitsIn = (name: string) =>
  Object.keys(SPLIT_WORDS).filter(split => SPLIT_WORDS[split]?.some(word => contains(name, word)))

/** A file, the splits that its path names, and the folder of its subset. */
type Placed = { name: string; splits: readonly string[]; group: string; isShard: boolean }

/** The first part of a path that names a split decides: a folder, or the file. */
function place(name: string): Placed {
  const shard = /^data\/([^/]+?)-\d{5}-of-\d{5}[^/]*$/.exec(name)
  if (shard?.[1] !== undefined) return { name, splits: [shard[1]], group: '', isShard: true }
  const parts = name.split('/')
  const at = parts.findIndex(part => splitsIn(part).length > 0)
  const folders = at < 0 ? parts.slice(0, -1) : parts.slice(0, at)
  return {
    name,
    splits: at < 0 ? [] : splitsIn(parts[at] ?? ''),
    group: folders.filter(folder => folder !== 'data').join('/'),
    isShard: false,
  }
}

/** The name of a subset for files beside the folders of others. */
const TOP = '.'

function filesOfFolders(directory: string, names: readonly string[], choice: DataChoice): string[] {
  const { split, subset } = choice
  const all = names.map(place)
  const placed = subset === undefined ? all : all.filter(({ group }) => isInside(group, subset))
  const groups = [...new Set(all.map(({ group }) => (group === '' ? TOP : group)))]
  if (placed.length === 0 && subset !== undefined)
    throw new InputError(
      `data set ${directory}: no subset ${JSON.stringify(subset)}; it has ${listOf(groups)}`,
    )
  const own = inSplit(directory, placed, split)
  const isUnsplit = split === 'train' && placed.every(({ splits }) => splits.length === 0)
  const chosen = own.length > 0 || !isUnsplit ? own : placed
  if (chosen.length === 0) {
    const found = placed.map(({ name }) => name)
    const splits = new Set(placed.flatMap(one => one.splits))
    throw new InputError(
      `data set ${directory}: no file of the split ${JSON.stringify(split)}; found ` +
        (found.length === 0 ? `no file with ${DATA_EXTENSIONS.join(', ')}` : shortList(found)) +
        (splits.size === 0 ? '' : `, which are the splits ${listOf(splits)}; choose one with dataset_split`),
    )
  }
  const subsets = new Set(own.map(({ group }) => (group === '' ? TOP : group)))
  if (subsets.size > 1) throw severalSubsets(directory, listOf(subsets))
  return chosen.map(({ name }) => name)
}

const isInside = (group: string, subset: string) =>
  subset === TOP ? group === '' : group === subset || group.startsWith(`${subset}/`)

/** Files of a split by its usual names, or by the word itself. */
function inSplit(directory: string, placed: readonly Placed[], split: string): Placed[] {
  const usual = placed.filter(({ splits }) => splits.includes(split))
  const twice = usual.find(({ splits }) => splits.length > 1)
  if (twice)
    throw new InputError(
      `data set ${directory}: ${twice.name} carries the names of the splits ${twice.splits.join(' and ')}; ` +
        'rename it, or give its path as the data set',
    )
  return usual.length > 0
    ? usual
    : placed.filter(({ name, isShard }) => !isShard && name.split('/').some(part => contains(part, split)))
}

/** Two spellings of one format count as one. A text beside other data is not data, but a licence or notes. */
const familyOf = (name: string) => {
  const format = formatOf(name) ?? ''
  return format === '.jsonl' || format === '.ndjson' ? '.json' : format
}

function ofOneFormat(directory: string, names: readonly string[]): readonly string[] {
  const families = new Set(names.map(familyOf))
  if (families.size > 1) families.delete('.txt')
  if (families.size > 1)
    throw new InputError(
      `data set ${directory}: has files of several formats (${shortList(names)}), which may be ` +
        'the same rows; give the path of one of them, or combine them with dataset_mix',
    )
  return names.filter(name => families.has(familyOf(name)))
}
