/** Runs on mixed, streamed and incomplete data, and what run.json says about them. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)

const short = {
  max_seq_length: 32,
  per_device_train_batch_size: 1,
  gradient_accumulation_steps: 2,
  threads: 1,
}
const datasetOf = (directory: string) =>
  (JSON.parse(readFileSync(join(directory, 'run.json'), 'utf8')) as { dataset: Record<string, unknown> })
    .dataset

test('a mix repeats the smaller data set until the shares hold, and records both', async () => {
  const large = bench.writeTexts('large', textsOf(20, 12))
  const small = bench.writeTexts('small', textsOf(10, 3))
  const mix = JSON.stringify([
    { path: large, weight: 3, samples: 9 },
    { path: small, weight: 2 },
  ])
  const notes: string[] = []
  const { config } = await bench.run(
    { ...short, dataset_mix: mix, max_steps: 1 },
    { onNote: line => notes.push(line) },
  )
  expect(datasetOf(config.output_dir)).toMatchObject({
    source: `${large}, ${small}`,
    examples: 12,
    documents: 15,
    tokens: 9 * 20 + 6 * 10,
    mix: [
      { source: large, weight: 3, examples: 9, documents: 9, seen: 9 },
      { source: small, weight: 2, examples: 3, documents: 3, seen: 6 },
    ],
  })
  expect(notes).toContain(`${small}: 3 documents, 6 in an epoch`)
  // The order is a function of the seed.
  const again = await bench.run({ ...short, dataset_mix: mix, max_steps: 1 })
  expect(datasetOf(again.config.output_dir)['hash']).toBe(datasetOf(config.output_dir)['hash'])
})

test('entries of a mix choose subset, split and columns', async () => {
  const folder = join(bench.directory, 'set')
  for (const [path, row] of [
    ['main/train.jsonl', { question: 'a', answer: 'b' }],
    ['main/test.jsonl', { ask: 'c', tell: 'd' }],
    ['socratic/train.jsonl', { question: 'e', answer: 'f' }],
  ] as const) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), `${JSON.stringify(row)}\n`)
  }
  const mix = [
    { path: folder, subset: 'socratic' },
    { path: folder, subset: 'main', split: 'test', columns: ['question=ask', 'answer=tell'] },
  ]
  const { config } = await bench.run({ ...short, dataset_mix: JSON.stringify(mix), max_steps: 1 })
  expect(datasetOf(config.output_dir)).toMatchObject({ documents: 2, skipped: { rows: 0 } })
  await expect(bench.run({ ...short, dataset: folder, max_steps: 1 })).rejects.toThrow(
    'has the subsets main, socratic; choose one with dataset_subset',
  )
  const chosen = await bench.run({ ...short, dataset: folder, dataset_config: 'main', max_steps: 1 } as never)
  expect(datasetOf(chosen.config.output_dir)).toMatchObject({ documents: 1 })
})

test('rows that train nothing are named with the reason', async () => {
  const path = join(bench.directory, 'untrained.jsonl')
  const user = { role: 'user', content: 'hi' }
  const yes = { role: 'assistant', content: 'yes' }
  const rows = [
    { messages: [user, yes] },
    { messages: [user, { ...yes, role: 'Critic' }] },
    { messages: [user, { ...yes, weight: 0 }] },
    { messages: [user, { ...yes, role: 'Critic' }] },
    { messages: [{ ...user, content: 'h'.repeat(200) }, yes] },
  ]
  writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const notes: string[] = []
  const settings = { ...short, max_seq_length: 64, dataset: path, max_steps: 1 }
  const { config } = await bench.run(settings, { onNote: line => notes.push(line) })
  const critic = 'no message has the role "assistant"; its roles are "user", "Critic"'
  expect(datasetOf(config.output_dir)).toMatchObject({
    documents: 1,
    dropped: 4,
    untrained: {
      rows: 4,
      reasons: [{ reason: critic, rows: 2, first: `${path}:2`, others: [`${path}:4`] }, {}, {}],
    },
  })
  expect(notes.find(line => line.startsWith('4 rows train nothing: '))).toContain(
    `2 × ${critic} (${path}:2, ${path}:4), ` +
      `1 × every turn of the assistant is excluded from the loss (${path}:3), ` +
      `1 × max_seq_length cuts everything that is trained (${path}:5)`,
  )
  writeFileSync(
    path,
    rows
      .slice(1, 2)
      .map(row => `${JSON.stringify(row)}\n`)
      .join(''),
  )
  await expect(bench.run(settings)).rejects.toThrow(`1 row trains nothing: 1 × ${critic} (${path}:1)`)
})

test('a streamed run resumes with the bits of an uninterrupted one, and counts its rows', async () => {
  const dataset = join(bench.directory, 'streamed.jsonl')
  const lines = textsOf(20, 300).map(text => JSON.stringify({ text }))
  writeFileSync(dataset, [...lines.slice(0, 5), '{', ...lines.slice(5)].join('\n'))
  const settings = { ...short, dataset, streaming: true, max_steps: 6 }
  const whole = await bench.run(settings)
  const record = datasetOf(whole.config.output_dir)
  expect(record).toMatchObject({
    streaming: true,
    skipped: { rows: 1, reasons: [{ first: `${dataset}:6` }] },
  })
  expect(record['documents']).toBeGreaterThan(12)
  expect(record).not.toHaveProperty('rows')
  const stop = new AbortController()
  const output_dir = join(bench.directory, 'interrupted')
  await bench.run(
    { ...settings, output_dir },
    { signal: stop.signal, onStep: ({ step }) => step === 3 && stop.abort() },
  )
  const resumed = await bench.run({ ...settings, output_dir, resume: true })
  expect(losses(resumed)).toEqual(losses(whole).slice(3))
  const trained = (directory: string) => readFileSync(join(directory, 'adapter/adapter_model.safetensors'))
  expect(trained(output_dir).equals(trained(whole.config.output_dir))).toBe(true)
  await expect(bench.run({ ...settings, bad_rows: 'error' })).rejects.toThrow('streamed.jsonl:6: not JSON')
})

test.each([
  [{ streaming: true }, 'streaming: needs max_steps'],
  [{ streaming: true, max_steps: 1, eval_split: 3 }, 'streaming: not available with eval_split'],
  [{ streaming: true, max_steps: 1, method: 'dpo' }, 'streaming: not available with method dpo'],
  [{ dataset_mix: '[{path: b}]' }, 'dataset and dataset_mix exclude each other'],
  [
    { dataset: undefined, dataset_mix: '[{path: b, weight: 1}, {path: c}]' },
    'give every data set a weight, or none',
  ],
  [{ dataset: undefined, dataset_mix: '[{path: b}]', dataset_samples: 3 }, 'dataset_samples: not available'],
  [{ dataset: undefined, dataset_mix: '[{paths: b}]' }, 'Unrecognized key'],
  [{ dataset: undefined }, 'dataset is required'],
  [{ eval_dataset_split: 'test' }, 'eval_dataset_split: needs eval_dataset'],
])('rejects the settings %j', (settings, message) => {
  expect(() => bench.config({ dataset: 'a', ...settings })).toThrow(message)
})
