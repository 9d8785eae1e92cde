import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTokenizer, type ModelTokenizer } from '@cairn-tune/weights'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { byteTokenizerFiles } from '../byte-tokenizer.ts'
import { tokenizeExamples } from './documents.ts'
import { documentsOf } from './document-store.ts'
import { loadDataset, openDataset } from './load-dataset.ts'
import { tokenizeDataset, type TokenizeOptions } from './tokenize-dataset.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-dataset-'))
})
afterAll(() => rm(directory, { recursive: true }))
const options = { env: { HF_HUB_OFFLINE: '1', HF_HUB_CACHE: '/nowhere' }, seed: 1 }

test('repeats a file up to the requested number of samples', async () => {
  const path = join(directory, 'two.jsonl')
  await writeFile(path, '{"text":"a"}\n{"text":"b"}\n')
  const { examples, source } = await loadDataset(path, { ...options, samples: 5 })
  expect(examples.map(example => example.kind === 'text' && example.text)).toEqual(['a', 'b', 'a', 'b', 'a'])
  expect(source).toBe(path)
  expect((await loadDataset(path, options)).examples).toHaveLength(2)
})

test('looks up a name in the hub cache', async () => {
  const snapshot = join(directory, 'hub', 'datasets--org--set', 'snapshots', 'c'.repeat(40))
  await mkdir(join(snapshot, '..', '..', 'refs'), { recursive: true })
  await mkdir(snapshot, { recursive: true })
  await writeFile(join(snapshot, '..', '..', 'refs', 'main'), 'c'.repeat(40))
  await writeFile(join(snapshot, 'train.jsonl'), '{"question":"q","answer":"#### 1"}')
  expect(
    await loadDataset('org/set', {
      ...options,
      env: { HF_HUB_CACHE: join(directory, 'hub'), HF_HUB_OFFLINE: '1' },
    }),
  ).toMatchObject({
    source: snapshot,
    examples: [{ kind: 'question', question: 'q', answer: '#### 1' }],
    skipped: [],
  })
  await expect(loadDataset('org/none', options)).rejects.toThrow(
    'dataset org/none: not complete in the hub cache (/nowhere/datasets--org--none/snapshots)',
  )
  await expect(loadDataset('problems:fr', options)).rejects.toThrow(
    'data set "problems:fr": the generated data sets are problems:en and problems:ro',
  )
  await expect(loadDataset('gone.jsonl', options)).rejects.toThrow(
    'data set gone.jsonl: no such file or directory',
  )
})

test('a name on the hub may end with the subset of its data set', async () => {
  const hub = join(directory, 'subsets')
  const repo = join(hub, 'datasets--openai--gsm8k')
  await mkdir(join(repo, 'refs'), { recursive: true })
  await writeFile(join(repo, 'refs', 'main'), 'c'.repeat(40))
  for (const [subset, answer] of [
    ['main', '1'],
    ['socratic', '2'],
  ] as const) {
    const folder = join(repo, 'snapshots', 'c'.repeat(40), subset)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'train-00000-of-00001.jsonl'), JSON.stringify({ question: 'q', answer }))
  }
  const settings = { ...options, env: { HF_HUB_CACHE: hub, HF_HUB_OFFLINE: '1' } }
  const answers = async (name: string, subset?: string) =>
    (await loadDataset(name, { ...settings, subset })).examples.map(
      one => one.kind === 'question' && one.answer,
    )
  expect(await answers('openai/gsm8k/main')).toEqual(['1'])
  expect(await answers('openai/gsm8k', 'socratic')).toEqual(['2'])
  await expect(answers('openai/gsm8k')).rejects.toThrow('has the subsets main, socratic; choose one')
  await expect(answers('openai/gsm8k/main', 'socratic')).rejects.toThrow('names the subset main')
})

test('loads generated problems by their reserved names', async () => {
  const ro = await loadDataset('problems:ro', { ...options, samples: 50 })
  expect(ro.examples).toHaveLength(50)
  expect(ro.examples[0]).toMatchObject({ kind: 'question', answer: expect.stringMatching(/#### \d+$/) })
  expect((await loadDataset('problems:en', { ...options, split: 'test' })).examples).toHaveLength(1319)
  await expect(loadDataset('problems:en', { ...options, split: 'dev' })).rejects.toThrow(
    'data set problems:en: only has the splits train and test, got "dev"',
  )
})

test('reads a cached tokenised data set, and tokenises again if anything differs', async () => {
  const tokenizer = await loadTokenizer(
    fileURLToPath(new URL('../../../weights/test/reference/tokenizer', import.meta.url)),
  )
  let encoded = 0
  const counting: ModelTokenizer = {
    ...tokenizer,
    encodeChat: chat => (encoded++, tokenizer.encodeChat(chat)),
    encodePieces: (pieces, options) => (encoded++, tokenizer.encodePieces(pieces, options)),
  }
  const cache = join(directory, 'cache')
  const settings: TokenizeOptions = {
    maxSeqLength: 96,
    trainOn: 'assistant',
    tooLong: 'truncate',
    badRows: 'skip',
    directory: cache,
    tokenizerHash: () => Promise.resolve('a'),
  }
  const read = async (samples: number, changes: Partial<TokenizeOptions> = {}) => {
    const source = await openDataset('problems:ro', { ...options, samples })
    const { documents, record, close } = await tokenizeDataset(source, counting, { ...settings, ...changes })
    const made = { documents: [...documentsOf(documents)], record }
    close()
    return made
  }
  const made = await read(1000)
  expect(encoded).toBe(1000)
  expect(made.record.truncated).toBeGreaterThan(0)
  expect(await read(1000)).toEqual(made)
  expect(encoded).toBe(1000)
  await read(1001)
  await read(1000, { tokenizerHash: () => Promise.resolve('b') })
  await read(1000, { trainOn: 'all' })
  expect(encoded).toBe(1000 + 1001 + 1000 + 1000)
  expect((await readdir(cache)).every(name => /^[0-9a-f]{32}\.tokens$/.test(name))).toBe(true)
  // Fewer are tokenised each time.
  await read(30)
  await read(30)
  expect(encoded).toBe(1000 + 1001 + 1000 + 1000 + 60)
})

/** Promise T4: The training toolkit reads the sft export of Cairn Agent unchanged. */
test('reads the output of cairn export --format sft unchanged and trains on every answer', async () => {
  const { examples } = await loadDataset(
    fileURLToPath(new URL('../../test/fixtures/sft-export.jsonl', import.meta.url)),
    options,
  )
  const chats = examples.flatMap(example => (example.kind === 'chat' ? [example] : []))
  expect(chats.map(({ messages }) => messages.map(({ role }) => role).join(' '))).toEqual([
    'user assistant tool tool assistant tool tool assistant',
    'user assistant tool assistant',
    'user assistant user assistant',
  ])
  expect(
    chats.map(({ tools }) => tools?.map(tool => (tool as { function: { name: string } }).function.name)),
  ).toEqual([['list_files', 'read_file', 'todo', 'write_file'], ['write_file'], undefined])
  expect(chats[0]?.tools?.at(-1)).toMatchObject({
    type: 'function',
    function: { parameters: { type: 'object', required: ['path', 'content'] } },
  })
  const calls = chats[0]?.messages.flatMap(
    message => (message['tool_calls'] ?? []) as { function: { name: string; arguments: unknown } }[],
  )
  expect(calls?.map(call => call.function)).toEqual([
    { name: 'write_file', arguments: { path: 'n.txt', content: 'Zürich ☂\n\t<tool_call>{}</tool_call>' } },
    { name: 'todo', arguments: { todos: [{ id: 'a', content: 'write', status: 'completed' }] } },
    { name: 'read_file', arguments: { path: 'nowhere.txt' } },
    { name: 'list_files', arguments: '{not json' },
  ])
  const model = join(directory, 'bytes')
  await mkdir(model)
  for (const [name, text] of Object.entries(byteTokenizerFiles())) await writeFile(join(model, name), text)
  const tokenizer = await loadTokenizer(model)
  const { documents } = tokenizeExamples(examples, tokenizer, {
    maxSeqLength: 8192,
    trainOn: 'assistant',
    tooLong: 'error',
  })
  const trained = documents.map(({ tokens, isTrained }) =>
    tokenizer.decode([...tokens].filter((_, i) => isTrained[i] === 1)),
  )
  expect(trained[1]).toBe(
    '<tool_call>\n{"name": "write_file", "arguments": {"path": "mooring.txt", "content": "berth ' +
      '7"}}\n</tool_call><|im_end|>\nNoted: berth 7.<|im_end|>\n',
  )
  expect(trained[2]).toBe('Good day.<|im_end|>\nGood day.<|im_end|>\n')
  expect(trained[0]?.split('<|im_end|>\n')).toEqual([
    expect.stringMatching(/^I write and look\.\n<tool_call>/),
    expect.stringContaining('"arguments": {not json}\n'),
    'Written; one file is not there.',
    '',
  ])
  expect(tokenizer.decode([...documents[1]!.tokens])).toContain(
    '<|im_start|>tool\n{"path":"mooring.txt","bytes":7,"created":true}<|im_end|>\n',
  )
})
