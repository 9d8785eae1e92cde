/** Opens a data set by its name: a file, a directory, a name on the hub, or generated problems. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { InputError, resolveRepo, type ResolveOptions } from '@cairn-tune/weights'
import { generateProblems, type Language } from '../problems/generate.ts'
import { findDataFiles, type DataFiles } from './dataset-files.ts'
import { SHAPES, type Example, type Shape } from './examples.ts'
import { formatOf, readFileRows } from './read-rows.ts'
import type { DataRecord } from './rows.ts'
import { createShapeReader, type ColumnMap, type ReadRow } from './shape-reader.ts'
import { checkSkipped, createTally, type BadRows, type Skipped } from './skips.ts'

export type DatasetOptions = ResolveOptions & {
  split?: string | undefined
  subset?: string | undefined
  /** Number of examples. A smaller dataset repeats from its start. */ samples?: number | undefined
  seed: number
  /** Mapping for columns with other names. */
  columns?: ColumnMap
  /** Defaults to an error. */
  badRows?: BadRows
}

/** A row that could not be parsed, one without an example, or one with its examples. */
export type SourceRow<E> = ReadRow<E> & { isUnread?: boolean }

/** The examples of a data set, read as they are needed. */
export type ExampleSource<E = Example> = {
  /** Source of the examples, for the run's record. */
  source: string
  /** Size of the files. 0 for generated problems. */
  bytes: number
  rows: () => AsyncIterable<readonly SourceRow<E>[]>
  /** A hash of everything that determines the examples. */
  hash: () => Promise<string>
  /** The same from sizes and the ends of files, for data that is too large to be read twice. */
  quickHash: () => Promise<string>
}

export type Dataset<E = Example> = {
  examples: E[]
  /** Source of the examples, for the run's record. */
  source: string
  /** Rows that could not be read as examples. */
  skipped: Skipped[]
  /** Describes the row of an example, for messages. */
  placeOf: (index: number) => string
}

/** Names of the generated data sets. */
export const GENERATED: Record<string, Language> = { 'problems:en': 'en', 'problems:ro': 'ro' }
/** Number of examples in gsm8k. */
const GENERATED_SIZES = { train: 7473, test: 1319 } as const

/** Opens a file, a directory, a hub name, or `problems:en` and `problems:ro`, which are generated. */
export async function openDataset(name: string, options: DatasetOptions): Promise<ExampleSource> {
  const language = Object.hasOwn(GENERATED, name) ? GENERATED[name] : undefined
  if (language !== undefined) return generatedSource(name, language, options)
  if (name.startsWith('problems:'))
    throw new InputError(
      `data set ${JSON.stringify(name)}: the generated data sets are ${Object.keys(GENERATED).join(' and ')}`,
    )
  return await openRows(name, options, SHAPES)
}

/** Rows of a file, a directory or a hub name, in one of the given formats. */
export async function openRows<E>(
  name: string,
  options: DatasetOptions,
  shapes: readonly Shape<E>[],
): Promise<ExampleSource<E>> {
  const { split = 'train', columns = [] } = options
  const { path, subset = options.subset } = await resolvePath(name, options)
  const found = await stat(path).catch((error: unknown) => {
    throw new InputError(`data set ${path}: no such file or directory`, { cause: error })
  })
  if (!found.isDirectory() && subset !== undefined)
    throw new InputError(`dataset_subset ${subset}: ${path} is a file, which has no subsets`)
  const { files, columns: own }: DataFiles = found.isDirectory()
    ? await findDataFiles(path, { split, subset })
    : { files: [path], columns: [] }
  const named = new Set(columns.map(pair => pair.split('=')[0]))
  const allColumns = [...own.filter(pair => !named.has(pair.split('=')[0])), ...columns]
  const sizes = await Promise.all(files.map(async file => (await stat(file)).size))
  return {
    source: path,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    rows: () => readSourceRows(path, files, shapes, allColumns),
    hash: () => hashFiles(path, files, [allColumns, split, subset], readWhole),
    quickHash: () => hashFiles(path, files, [allColumns, split, subset, sizes], readEnds),
  }
}

async function hashFiles(
  path: string,
  files: readonly string[],
  settings: unknown,
  read: (file: string) => AsyncIterable<Uint8Array>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(settings))
  for (const file of files) {
    hash.update(`\n${relative(path, file)}\n`)
    for await (const chunk of read(file)) hash.update(chunk)
  }
  return hash.digest('hex')
}

const CHUNK_BYTES = 2 ** 20

const readWhole = (file: string): AsyncIterable<Buffer> =>
  createReadStream(file, { highWaterMark: CHUNK_BYTES })

async function* readEnds(file: string): AsyncIterable<Buffer> {
  const { size } = await stat(file)
  yield* createReadStream(file, { end: CHUNK_BYTES - 1 }) as AsyncIterable<Buffer>
  yield* createReadStream(file, { start: Math.max(0, size - CHUNK_BYTES) }) as AsyncIterable<Buffer>
}

/** The path of a data set, and the subset that a name on the hub may end with: openai/gsm8k/main. */
async function resolvePath(
  name: string,
  options: DatasetOptions,
): Promise<{ path: string; subset?: string }> {
  const isPath = await stat(name).then(
    () => true,
    () => false,
  )
  // A path that does not exist and has no extension can only be a name.
  if (isPath || formatOf(name) !== undefined) return { path: name }
  const [, repo, subset] = /^([\w-][\w.-]*\/[\w-][\w.-]*)\/([\w-][\w.-]*)$/.exec(name) ?? []
  if (repo === undefined || subset === undefined) return { path: await resolveRepo('dataset', name, options) }
  if (options.subset !== undefined && options.subset !== subset)
    throw new InputError(
      `data set ${name}: names the subset ${subset}, but dataset_subset is ${options.subset}`,
    )
  return { path: await resolveRepo('dataset', repo, options), subset }
}

async function* readSourceRows<E>(
  path: string,
  files: readonly string[],
  shapes: readonly Shape<E>[],
  columns: ColumnMap,
): AsyncIterable<readonly SourceRow<E>[]> {
  const reader = createShapeReader(shapes, columns)
  let count = 0
  for (const file of files)
    for await (const rows of readFileRows(file)) {
      count += rows.length
      const unread = rows.filter(row => 'reason' in row)
      const records = rows.filter((row): row is DataRecord => 'values' in row)
      yield [...unread.map(row => ({ ...row, isUnread: true })), ...reader.push(records)]
    }
  if (count === 0) throw new InputError(`data set ${path}: has no rows`)
  yield reader.end()
}

function generatedSource(
  name: string,
  language: Language,
  { split = 'train', samples, seed }: DatasetOptions,
): ExampleSource {
  if (split !== 'train' && split !== 'test')
    throw new InputError(`data set ${name}: only has the splits train and test, got ${JSON.stringify(split)}`)
  const options = { language, split, seed, count: samples ?? GENERATED_SIZES[split] } as const
  const hash = () => Promise.resolve(JSON.stringify([name, options, PROBLEMS_VERSION]))
  return {
    source: name,
    bytes: 0,
    async *rows() {
      yield generateProblems(options).map(({ question, answer }, i) => ({
        where: `${name}: problem ${i + 1}`,
        examples: [{ kind: 'question' as const, question, answer }],
      }))
    },
    hash,
    quickHash: hash,
  }
}

/** Raise when the same options would generate other problems. */
const PROBLEMS_VERSION = 1

/** All examples of a data set at once, for small ones. */
export const loadDataset = async (name: string, options: DatasetOptions): Promise<Dataset> =>
  await loadSource(await openDataset(name, options), options)

async function loadSource<E>(
  { source, rows }: ExampleSource<E>,
  { samples, badRows = 'error' }: DatasetOptions,
): Promise<Dataset<E>> {
  const examples: E[] = []
  const places: string[] = []
  const [unread, unfit]: [Skipped[], Skipped[]] = [[], []]
  for await (const batch of rows())
    for (const row of batch) {
      if ('examples' in row) {
        examples.push(...row.examples)
        places.push(...row.examples.map(() => row.where))
      } else (row.isUnread ? unread : unfit).push({ where: row.where, reason: row.reason })
    }
  const skipped = [...unread, ...unfit]
  const tally = createTally()
  for (const one of skipped) tally.add(one)
  checkSkipped(tally.first, tally.summary(), examples.length, badRows)
  return {
    examples: samples === undefined ? examples : repeatTo(examples, samples),
    source,
    skipped,
    placeOf: index => places[index % places.length] ?? source,
  }
}

const repeatTo = <E>(examples: readonly E[], count: number): E[] =>
  Array.from({ length: count }, (_, i) =>
    examples.slice(i % examples.length, (i % examples.length) + 1),
  ).flat()
