import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findDataFiles } from './dataset-files.ts'
import { loadDataset } from './load-dataset.ts'

let root: string
let number = 0
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'cairn-layouts-'))
})
afterAll(() => rm(root, { recursive: true }))

/** A directory with those files. */
async function layout(files: Record<string, string> | readonly string[]): Promise<string> {
  const directory = join(root, String(number++))
  await mkdir(directory)
  const named: Record<string, string> = Array.isArray(files)
    ? Object.fromEntries((files as readonly string[]).map(name => [name, '']))
    : (files as Record<string, string>)
  for (const [name, content] of Object.entries(named)) {
    await mkdir(dirname(join(directory, name)), { recursive: true })
    await writeFile(join(directory, name), content)
  }
  return directory
}

async function find(
  files: Parameters<typeof layout>[0],
  split = 'train',
  subset?: string,
): Promise<readonly string[] | string> {
  const directory = await layout(files)
  try {
    const found = await findDataFiles(directory, { split, subset })
    return found.files.map(name => name.slice(directory.length + 1))
  } catch (error) {
    return (error as Error).message.replace(directory, 'D')
  }
}

const GSM8K = ['main/train.jsonl', 'main/test.jsonl', 'socratic/train.jsonl', 'socratic/test.jsonl']

test('folders that hold subsets need a choice', async () => {
  expect(await find(GSM8K)).toBe(
    'data set D: has the subsets main, socratic; choose one with dataset_subset, or combine several with ' +
      'dataset_mix',
  )
  expect(await find(GSM8K, 'train', 'main')).toEqual(['main/train.jsonl'])
  expect(await find(GSM8K, 'test', 'socratic')).toEqual(['socratic/test.jsonl'])
  expect(await find(GSM8K, 'train', 'other')).toBe('data set D: no subset "other"; it has main, socratic')
  expect(await find(['train.jsonl', 'extra/train.jsonl'])).toContain('has the subsets extra, .;')
  expect(await find(['train.jsonl', 'extra/train.jsonl'], 'train', '.')).toEqual(['train.jsonl'])
  // Folders below that of a split are parts of it.
  expect(await find(['train/a/1.jsonl', 'train/b/1.jsonl', 'test/a/1.jsonl'])).toEqual([
    'train/a/1.jsonl',
    'train/b/1.jsonl',
  ])
})

test('hidden files and folders are not data, at any depth', async () => {
  expect(
    await find([
      'train.jsonl',
      '.train.jsonl',
      '.ipynb_checkpoints/train-checkpoint.jsonl',
      'a/.cache/b/train.jsonl',
      '__MACOSX/train.jsonl',
    ]),
  ).toEqual(['train.jsonl'])
})

test('splits by the words and shards that the datasets library knows', async () => {
  const words = ['my_training_set.jsonl', 'my.dev.jsonl', 'my eval.jsonl', 'trainer.jsonl']
  expect(await find(words)).toEqual(['my_training_set.jsonl'])
  expect(await find(words, 'validation')).toEqual(['my.dev.jsonl'])
  expect(await find(words, 'test')).toEqual(['my eval.jsonl'])
  expect(await find(words, 'eval')).toEqual(['my eval.jsonl'])
  expect(await find(['Train.jsonl', 'Test.jsonl'])).toEqual(['Train.jsonl'])
  const shards = ['data/train_sft-00000-of-00001.parquet', 'data/train_gen-00000-of-00001.parquet']
  expect(await find(shards, 'train_sft')).toEqual([shards[0]])
  expect(await find(shards)).toMatch(
    /no file of the split "train"; .*which are the splits train_gen, train_sft/,
  )
  expect(await find(['train_test.jsonl'])).toContain('carries the names of the splits train and test')
})

test('two formats may hold the same rows; texts beside data are notes', async () => {
  expect(await find(['train.csv', 'train.jsonl'])).toMatch(/several formats \(train.csv, train.jsonl\)/)
  expect(await find(['a.jsonl', 'b.json', 'c.jsonl.gz', 'LICENSE.txt'])).toEqual([
    'a.jsonl',
    'b.json',
    'c.jsonl.gz',
  ])
  expect(await find(['a.txt', 'b.txt'])).toEqual(['a.txt', 'b.txt'])
})

test('a directory that save_to_disk wrote', async () => {
  const state = (...names: string[]) => JSON.stringify({ _data_files: names.map(filename => ({ filename })) })
  const one = {
    'state.json': state('data-0.arrow', 'data-1.arrow'),
    'dataset_info.json': '{}',
    'cache-1f.arrow': '',
  }
  expect(await find(one)).toEqual(['data-0.arrow', 'data-1.arrow'])
  const several = {
    'dataset_dict.json': '{"splits": ["train", "test"]}',
    'train/state.json': state('data-0.arrow'),
    'test/state.json': state('data-0.arrow'),
  }
  expect(await find(several, 'test')).toEqual(['test/data-0.arrow'])
  expect(await find(several, 'dev')).toBe(
    'data set D: no split "dev"; it has train, test; choose one with dataset_split',
  )
})

test("the card's subsets decide before the names of files", async () => {
  const card = `---
configs:
- config_name: main
  data_files:
  - split: train
    path: main/train*
  - split: test
    path: [main/test.jsonl]
- config_name: socratic
  data_dir: socratic
---
`
  const files = { ...Object.fromEntries(GSM8K.map(name => [name, ''])), 'README.md': card }
  expect(await find(files)).toContain('has the subsets main, socratic; choose one with dataset_subset')
  expect(await find(files, 'train', 'main')).toEqual(['main/train.jsonl'])
  expect(await find(files, 'test', 'socratic')).toEqual(['socratic/test.jsonl'])
  expect(await find(files, 'dev', 'main')).toBe(
    'data set D: no split "dev"; it has train, test; choose one with dataset_split',
  )
  const usual = card.replace('data_dir: socratic', 'data_dir: socratic\n  default: true')
  expect(await find({ ...files, 'README.md': usual })).toEqual(['socratic/train.jsonl'])
  expect(await find({ ...files, 'README.md': '---\nconfigs: 3\n---\n' })).toContain('configs cannot be read')
  expect(await find({ 'a.jsonl': '', 'README.md': '# Data' })).toEqual(['a.jsonl'])
})

test("LLaMA-Factory's index names files, columns and subsets", async () => {
  const index = (entries: object) => ({ 'dataset_info.json': JSON.stringify(entries) })
  const mine = { file_name: 'mine.json', columns: { prompt: 'ask', response: 'tell' } }
  const directory = await layout({
    ...index({ mine, absent: { file_name: 'absent.json' } }),
    'mine.json': '[{"ask": "q", "tell": "a"}]',
  })
  const { examples } = await loadDataset(directory, { env: {}, seed: 1 })
  expect(examples).toMatchObject([{ kind: 'instruction', instruction: 'q', output: 'a' }])
  const two = {
    'mine.json': '[]',
    'other.json': '[]',
    ...index({ mine, other: { file_name: 'other.json' } }),
  }
  expect(await find(two)).toContain('has the subsets mine, other')
  expect(await find(two, 'train', 'other')).toEqual(['other.json'])
  expect(
    await find({ 'a.json': '[]', ...index({ a: { file_name: 'a.json', columns: { images: 'i' } } }) }),
  ).toContain('a: the column "images" is not supported')
  expect(await find({ 'a.json': '[]', ...index({ features: {}, splits: {} }) })).toEqual(['a.json'])
})

test('a file has no subsets, and a directory without data names the formats', async () => {
  const directory = await layout({ 'a.jsonl': '{"text": "a"}' })
  await expect(loadDataset(join(directory, 'a.jsonl'), { env: {}, seed: 1, subset: 'main' })).rejects.toThrow(
    'is a file, which has no subsets',
  )
  expect(await find(['a.doc'])).toContain('found no file with .jsonl, .ndjson, .json')
  await expect(loadDataset(join(directory, 'none', 'x'), { env: {}, seed: 1 })).rejects.toThrow(
    'not a directory, and not a name on the hub',
  )
})
