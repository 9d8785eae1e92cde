import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadDataset } from './load-dataset.ts'
import { readFileRows } from './read-rows.ts'
import type { Row } from './rows.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-data-'))
})
afterAll(() => rm(directory, { recursive: true }))

async function write(name: string, text: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, text)
  return path
}
const hub = { env: {}, seed: 1 }
const readPath = async (path: string) => (await loadDataset(path, hub)).examples

/** The rows of a file whose bytes are those chunks. */
async function rowsOf(name: string, ...chunks: (string | Uint8Array)[]): Promise<Row[]> {
  const rows: Row[] = []
  const open = async function* () {
    yield* chunks.map(chunk => Buffer.from(chunk as string))
  }
  for await (const some of readFileRows(name, open)) rows.push(...some)
  return rows
}

const read = async (name: string, text: string) => readPath(await write(name, text))
const question = { kind: 'question', question: 'Câte?', answer: '1, 2\n"trei"' }

test.each([
  ['a.jsonl', '{"question":"Câte?","answer":"1, 2\\n\\"trei\\""}\n\n'],
  ['a.json', '[{"question":"Câte?","answer":"1, 2\\n\\"trei\\""}]'],
  ['a.csv', 'question,answer\r\nCâte?,"1, 2\n""trei"""\r\n'],
])('reads %s', async (name, text) => {
  expect(await read(name, text)).toEqual([question])
})

test.each(['none', 'snappy', 'gzip', 'zstd', 'brotli'])(
  'reads Parquet with %s compression',
  async compression => {
    const path = fileURLToPath(new URL(`../../test/reference/chat-${compression}.parquet`, import.meta.url))
    const examples = await readPath(path)
    expect(examples).toHaveLength(3)
    expect(examples[2]).toEqual({
      kind: 'chat',
      tools: undefined,
      messages: [
        { role: 'user', content: 'Câte mere? 2' },
        { role: 'assistant', content: '#### 2' },
      ],
    })
  },
)

test('reads rows with a completion and rows with a text', async () => {
  expect(await read('b.jsonl', '{"prompt":"p","completion":"c","text":"ignored"}')).toEqual([
    { kind: 'completion', prompt: 'p', completion: 'c' },
  ])
  expect(await read('c.jsonl', '{"text":"t"}')).toEqual([{ kind: 'text', text: 't' }])
})

const call = (args: string) => ({ id: 'c1', type: 'function', function: { name: 'add', arguments: args } })

test('reads the output of cairn export --format sft, with call arguments as objects', async () => {
  const line = {
    messages: [
      { role: 'user', content: 'Add.' },
      { role: 'assistant', content: '', tool_calls: [call('{"a":1}')] },
      { role: 'tool', tool_call_id: 'c1', content: '1' },
      { role: 'assistant', content: 'Done.' },
    ],
    tools: [{ type: 'function' }],
    metadata: { session_id: 's' },
  }
  const [example] = await read('d.jsonl', JSON.stringify(line))
  expect(example).toMatchObject({
    kind: 'chat',
    tools: [{ type: 'function' }],
    messages: [
      {},
      { tool_calls: [{ id: 'c1', function: { name: 'add', arguments: { a: 1 } } }] },
      { tool_call_id: 'c1' },
      { content: 'Done.' },
    ],
  })
  const broken = {
    ...line,
    messages: [{ role: 'assistant', content: null, tool_calls: [call('{"a":')] }],
    tools: '[{"type":"function"}]',
  }
  expect((await read('e.jsonl', JSON.stringify(broken)))[0]).toMatchObject({
    tools: [{ type: 'function' }],
    messages: [{ tool_calls: [{ function: { arguments: '{"a":' } }] }],
  })
})

test.each([
  [
    'f.jsonl',
    '{"instruct":"a","output":"b"}',
    /f.jsonl:1: has the columns instruct, output; expected messages, or .*, or text, or .*; map other names with dataset_columns/,
  ],
  [
    'g.jsonl',
    '{"question":"a","answer":"b"}\n{"question":"a"}',
    /g.jsonl:2: has the columns question; expected question \+ answer/,
  ],
  ['h.jsonl', '{"question":"a","answer":7}', /h.jsonl:1: answer: .*expected string, received number/],
  ['i.jsonl', '{"messages":[]}', /i.jsonl:1: /],
  ['j.jsonl', '{"text":"a"}\n{"text":', /j.jsonl:2: not JSON/],
  ['k.jsonl', '"a"', /k.jsonl:1: must be an object with columns, got "a"/],
  ['l.json', '{"text":"a"}', /l.json: must be an array of objects; use .jsonl for one object per line/],
  ['m.csv', 'a,b\n1\n', /m.csv:2: has 1 fields, but the first line names 2 columns \(a, b\)/],
  ['n.csv', 'a,b\n1,"2\n', /n.csv:2: unclosed quote/],
  ['o.parquet', 'PAR0', /o.parquet: invalid Parquet file/],
  ['p.doc', 'a', /p.doc: unknown format; known: .jsonl, .ndjson, .json, .csv, .tsv, .txt, .parquet, .arrow/],
  ['q.jsonl', '\n', /q.jsonl: has no rows/],
])('rejects %s with the row and the expected value', async (name, text, message) => {
  await expect(read(name, text)).rejects.toThrow(message)
})

test('CSV keeps quoted line breaks and quotes, and skips empty lines', async () => {
  const text = '\u{feff}a,b\n"1\r\n2","say ""hi"""\n\n,\n"",""'
  const rows = [
    { where: 'x.csv:2', values: { a: '1\r\n2', b: 'say "hi"' } },
    { where: 'x.csv:5', values: { a: '', b: '' } },
    { where: 'x.csv:6', values: { a: '', b: '' } },
  ]
  expect(await rowsOf('x.csv', text)).toEqual(rows)
  // Wherever chunks divide the bytes.
  const bytes = Buffer.from(text)
  for (let i = 1; i < bytes.length; i++)
    expect(await rowsOf('x.csv', bytes.subarray(0, i), bytes.subarray(i))).toEqual(rows)
  expect(await rowsOf('x.tsv', 'a\tb\n1,5\t"2\t3"\n')).toEqual([
    { where: 'x.tsv:2', values: { a: '1,5', b: '2\t3' } },
  ])
  await expect(rowsOf('x.csv', '')).rejects.toThrow('x.csv: empty; the first line must name the columns')
  await expect(rowsOf('x.csv', 'a\n"1"2')).rejects.toThrow(
    'x.csv:2: unclosed quote, or text after a closing quote',
  )
})

test('a JSON array is read element by element, wherever chunks divide the bytes', async () => {
  const text = ' [ {"text":"a,]}\\"é"} ,\n{"text":"b","more":[1,{"x":2}]}, 3 ] \n'
  const rows = [
    { where: 'x.json: row 1', values: { text: 'a,]}"é' } },
    { where: 'x.json: row 2', values: { text: 'b', more: [1, { x: 2 }] } },
    { where: 'x.json: row 3', reason: 'must be an object with columns, got 3' },
  ]
  const bytes = Buffer.from(text)
  for (let i = 0; i < bytes.length; i++)
    expect(await rowsOf('x.json', bytes.subarray(0, i), bytes.subarray(i))).toEqual(rows)
  expect(await rowsOf('x.json', '[ ]')).toEqual([])
  await expect(rowsOf('x.json', '[{"text":"a"}')).rejects.toThrow(
    'x.json: not JSON (row 1: the array is not closed)',
  )
  await expect(rowsOf('x.json', '[{"text":"a"},{"text":}]')).rejects.toThrow('x.json: not JSON (row 2: ')
  await expect(rowsOf('x.json', '[{"text":"a"},]')).rejects.toThrow('x.json: not JSON (row 2: ')
  await expect(rowsOf('x.json', '[] 1')).rejects.toThrow('text after the end of the array')
})

test('a text file has one row per line', async () => {
  expect(await rowsOf('x.txt', 'a\r\n\nb', 'c\rd')).toEqual([
    { where: 'x.txt:1', values: { text: 'a' } },
    { where: 'x.txt:2', values: { text: '' } },
    { where: 'x.txt:3', values: { text: 'bc' } },
    { where: 'x.txt:3', values: { text: 'd' } },
  ])
})

test('reads a file with more rows than a call can have arguments', async () => {
  const path = await write('many.jsonl', '{"text":"a"}\n'.repeat(200_000))
  expect(await readPath(path)).toHaveLength(200_000)
})

test('reads more JSONL than a string can hold, and never far ahead of its rows', async () => {
  // 600 MB in chunks that cut lines: a line of 40 kB and a third.
  const line = `{"text":"${'a'.repeat(40_000)}"}\n`
  const chunk = Buffer.from(line.repeat(75))
  let bytes = 0
  const open = async function* () {
    for (let i = 0; i < 400; i++) {
      const part = i % 2 === 0 ? chunk.subarray(0, 1_234_567) : chunk.subarray(1_234_567)
      bytes += part.byteLength
      yield part
    }
  }
  let rows = 0
  let ahead = 0
  for await (const some of readFileRows('large.jsonl', open)) {
    expect(some.every(row => 'values' in row && (row.values['text'] as string).length === 40_000)).toBe(true)
    rows += some.length
    ahead = Math.max(ahead, bytes - rows * line.length)
  }
  expect(rows).toBe(15_000)
  expect(ahead).toBeLessThan(4 * chunk.byteLength)
})

test('a line that is too long is skipped', async () => {
  const open = async function* () {
    yield Buffer.from('{"text":"a"}\n{"text":"')
    for (let i = 0; i < 129; i++) yield Buffer.alloc(2 ** 20, 97)
    yield Buffer.from('"}\n{"text":"b"}')
  }
  const rows: Row[] = []
  for await (const some of readFileRows('x.jsonl', open)) rows.push(...some)
  expect(rows).toEqual([
    { where: 'x.jsonl:1', values: { text: 'a' } },
    { where: 'x.jsonl:2', reason: 'longer than 128 MiB' },
    { where: 'x.jsonl:3', values: { text: 'b' } },
  ])
})
