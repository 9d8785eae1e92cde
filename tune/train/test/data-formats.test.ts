/** Rows of every format are those that the datasets library reads (reference/make_data_formats.py). */
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadTokenizer } from '@cairn-tune/weights'
import { QWEN3_DIRECTORY } from '@cairn-tune/weights/test/qwen3-tokenizer'
import { expect, test } from 'vitest'
import { tokenizeExamples } from '../src/data/documents.ts'
import { readExamples } from '../src/data/shape-reader.ts'
import { readFileRows } from '../src/data/read-rows.ts'
import type { DataRecord } from '../src/data/rows.ts'
import { plainValue } from './reference/plain-values.ts'

const directory = fileURLToPath(new URL('reference/data-formats/', import.meta.url))
const qwen3 = await loadTokenizer(QWEN3_DIRECTORY)
const expected = JSON.parse(readFileSync(`${directory}expected.json`, 'utf8')) as Record<string, unknown[]>

test.each(Object.entries(expected))('%s', async (name, rows) => {
  const read: unknown[] = []
  for await (const some of readFileRows(directory + name))
    read.push(...some.map(row => ('values' in row ? plainValue(row.values) : row.reason)))
  expect(read).toEqual(rows)
})

test('a file that is cut is an error, not fewer rows', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cairn-cut-'))
  const read = async (name: string) => {
    for await (const rows of readFileRows(join(folder, name))) expect(rows).toBeInstanceOf(Array)
  }
  // A stream of Arrow may end after any message.
  const names = Object.keys(expected).filter(
    name => /\.(?:gz|zst|arrow|parquet|json)$/.test(name) && !name.includes('-stream'),
  )
  for (const name of names) {
    const bytes = await readFile(directory + name)
    await writeFile(join(folder, name), bytes.subarray(0, -9))
    await expect(read(name), name).rejects.toThrow(
      /damaged (?:gzip|Zstandard) file|invalid (?:Arrow|Parquet) file|not JSON/,
    )
  }
  await rm(folder, { recursive: true })
})

test('calls in Parquet and Arrow are trained like the same rows in JSONL', async () => {
  const call = (name: string, args: string) =>
    `{"type": "function", "function": {"name": "${name}", "arguments": ${args}}}`
  const lines = [
    `{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "tool_calls": ` +
      `[${call('a', '{"x": "1"}')}, ${call('b', '{"y": 2, "g": 2.0}')}]}]}`,
    '{"messages": [{"role": "user", "content": "ho"}, {"role": "assistant", "content": "yes"}]}',
  ]
  const trained = async (name: string, open?: () => AsyncIterable<Uint8Array>) => {
    const records: DataRecord[] = []
    for await (const rows of readFileRows(name, open))
      records.push(...rows.filter((row): row is DataRecord => 'values' in row))
    const options = { maxSeqLength: 4096, trainOn: 'assistant', tooLong: 'error' } as const
    return tokenizeExamples(readExamples(records).examples, qwen3, options).documents
  }
  const wanted = await trained('calls.jsonl', async function* () {
    yield Buffer.from(lines.join('\n'))
  })
  expect(qwen3.decode([...(wanted[0]?.tokens ?? [])])).toContain('"arguments": {"y": 2, "g": 2.0}}')
  expect(await trained(`${directory}calls-compression-lz4.parquet`)).toEqual(wanted)
  expect(await trained(`${directory}calls-None-stream.arrow`)).toEqual(wanted)
})
