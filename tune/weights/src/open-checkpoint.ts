/** Opens the weights of a model: a directory with one safetensors file or shards with an index, or a GGUF file. */
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { openFileBytes, type ByteSource } from './byte-source.ts'
import type { Checkpoint } from './checkpoint.ts'
import { InputError } from './errors.ts'
import { isMissing } from './fs-errors.ts'
import { openGgufCheckpoint } from './gguf/checkpoint.ts'
import { isGgufPath } from './gguf/gguf-file.ts'
import { openSafetensors, type Safetensors } from './safetensors.ts'
import type { TensorEntry } from './safetensors-header.ts'

const SINGLE = 'model.safetensors'
const INDEX = 'model.safetensors.index.json'

/**
 * Opens all files of a model's weights and checks the headers. `open` reads files; the default is a handle
 * that copies. A GGUF file is always mapped.
 */
export async function openCheckpoint(
  directory: string,
  open: (path: string) => Promise<ByteSource> = openFileBytes,
): Promise<Checkpoint> {
  if (isGgufPath(directory)) return openGgufCheckpoint(directory)
  // transformers prefers the single file, too, if a directory has both.
  const file = await openSafetensors(join(directory, SINGLE), open).catch((error: unknown) => {
    if (error instanceof InputError && isMissing(error.cause)) return undefined
    throw error
  })
  if (file) return fromFiles(directory, [file], new Map([...file.tensors.keys()].map(name => [name, file])))
  const index = await readIndex(directory)
  if (index) return openFiles(directory, index, open)
  throw new InputError(
    `${directory}: contains neither ${SINGLE} nor ${INDEX}; ` +
      'other weight formats (.bin) are not supported, and a .gguf file must be given by its own path',
  )
}

async function readIndex(directory: string): Promise<Map<string, string> | undefined> {
  const path = join(directory, INDEX)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (text === undefined) return undefined
  const map = parseWeightMap(text)
  if (!map)
    throw new InputError(
      `${path}: must be JSON with a weight_map from tensor names to names of files in the same directory`,
    )
  return map
}

function parseWeightMap(text: string): Map<string, string> | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The caller, which knows the path, reports the error.
    return undefined
  }
  const map =
    typeof value === 'object' && value !== null && 'weight_map' in value ? value.weight_map : undefined
  if (typeof map !== 'object' || map === null) return undefined
  const entries = Object.entries(map) as [string, unknown][]
  // A file name with a folder could lead out of the model's directory.
  return entries.every(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && basename(entry[1]) === entry[1],
  )
    ? new Map(entries)
    : undefined
}

async function openFiles(
  directory: string,
  index: Map<string, string>,
  open: (path: string) => Promise<ByteSource>,
): Promise<Checkpoint> {
  const files = new Map<string, Safetensors>()
  try {
    for (const name of new Set(index.values()))
      files.set(name, await openSafetensors(join(directory, name), open))
    const places = new Map<string, Safetensors>()
    for (const [tensor, name] of index) {
      const file = files.get(name)
      if (!file?.tensors.has(tensor))
        throw new InputError(
          `${join(directory, INDEX)}: lists ${JSON.stringify(tensor)} in ${name}, but that file does ` +
            'not contain it',
        )
      places.set(tensor, file)
    }
    return fromFiles(directory, [...files.values()], places)
  } catch (error) {
    await Promise.all([...files.values()].map(file => file.close()))
    throw error
  }
}

/** The first part of the names in a file that was saved without its head. */
const BODY = 'model.'

/**
 * Names of a model's tensors, by those in its files. Files saved from a model without a head (LlamaModel)
 * lack the first part, which transformers adds, too.
 */
function namesOf(stored: Iterable<string>): Map<string, string> {
  const names = [...stored]
  const isBare = names.includes('embed_tokens.weight') && !names.some(name => name.startsWith(BODY))
  const nameOf = (name: string) => (isBare && name !== 'lm_head.weight' ? BODY + name : name)
  return new Map(names.map(name => [nameOf(name), name]))
}

function fromFiles(
  directory: string,
  files: readonly Safetensors[],
  places: ReadonlyMap<string, Safetensors>,
): Checkpoint {
  const names = namesOf(places.keys())
  const placeOf = (name: string): { file: Safetensors; stored: string } => {
    const stored = names.get(name) ?? name
    const file = places.get(stored)
    if (!file) throw new InputError(`${directory}: has no tensor ${JSON.stringify(name)}`)
    return { file, stored }
  }
  const read = async (name: string) => {
    const { file, stored } = placeOf(name)
    return file.read(stored)
  }
  const entries = [...names].flatMap(([name, stored]): [string, TensorEntry][] => {
    const entry = places.get(stored)?.tensors.get(stored)
    return entry ? [[name, { ...entry, name }]] : []
  })
  return {
    directory,
    tensors: new Map(entries),
    pathOf: name => placeOf(name).file.path,
    read,
    readRows: async (name, start, end) => {
      const { file, stored } = placeOf(name)
      return file.readRows(stored, start, end)
    },
    readStored: read,
    close: async () => void (await Promise.all(files.map(file => file.close()))),
  }
}
