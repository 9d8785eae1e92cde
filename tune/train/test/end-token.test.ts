/** A run on answers without an end token, which a model then never learns to write, says so. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createBench } from './run.ts'

const bench = await createBench()
const directory = mkdtempSync(join(tmpdir(), 'cairn-end-'))
afterAll(() => {
  bench.remove()
  rmSync(directory, { recursive: true })
})
const dataset = join(directory, 'answers.jsonl')
writeFileSync(dataset, JSON.stringify({ prompt: 'abc', completion: 'de' }))

type Files = Record<string, Record<string, unknown>>

/** Trains on a copy of the model with changed files; undefined removes a key. */
async function trainWith(
  name: string,
  change: (file: string) => Files[string] | undefined,
  settings: { added_tokens?: string } = {},
) {
  const model = join(directory, name)
  await cp(bench.model, model, { recursive: true })
  for (const file of ['tokenizer_config.json', 'special_tokens_map.json', 'config.json']) {
    const keys = change(file)
    if (!keys) continue
    const path = join(model, file)
    const old = file === 'special_tokens_map.json' ? '{}' : readFileSync(path, 'utf8')
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(old) as object), ...keys }))
  }
  const notes: string[] = []
  const { config } = await bench.run(
    { model, dataset, max_steps: 1, threads: 1, ...settings },
    { onNote: line => notes.push(line) },
  )
  const record = JSON.parse(readFileSync(join(config.output_dir, 'run.json'), 'utf8')) as {
    dataset: { tokens: number }
  }
  return { tokens: record.dataset.tokens, warns: notes.some(line => line.includes('names no end token')) }
}

test('an answer ends with the end token wherever the model names it, and a run without one warns', async () => {
  const tokens = { eos_token: undefined, additional_special_tokens: undefined }
  const without = { 'tokenizer_config.json': tokens, 'config.json': { eos_token_id: null } }
  const inMap = { ...without, 'special_tokens_map.json': { eos_token: '<|im_end|>' } }
  const inConfig = { 'tokenizer_config.json': tokens }
  expect(await trainWith('map', file => (inMap as Files)[file])).toEqual({ tokens: 6, warns: false })
  expect(await trainWith('config', file => (inConfig as Files)[file])).toEqual({ tokens: 6, warns: false })
  expect(await trainWith('added', file => (inConfig as Files)[file], { added_tokens: '<tool>' })).toEqual({
    tokens: 6,
    warns: false,
  })
  expect(await trainWith('none', file => (without as Files)[file])).toEqual({ tokens: 5, warns: true })
})
