import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCsv } from './csv.ts'
import { readExamples } from './examples.ts'
import { readRecords } from './read-records.ts'
import { checkSkipped } from './skips.ts'

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
async function readPath(path: string) {
  const { records, skipped: unread } = await readRecords(path)
  const { examples, skipped: unfit } = readExamples(records)
  checkSkipped([...unread, ...unfit], examples.length, 'error')
  return examples
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
    /f.jsonl:1: has the columns instruct, output; expected messages, or .*, or text; map other names with dataset_columns/,
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
  ['p.txt', 'a', /p.txt: unknown format; known: .jsonl, .json, .csv, .parquet/],
  ['q.jsonl', '\n', /q.jsonl: has no rows/],
])('rejects %s with the row and the expected value', async (name, text, message) => {
  await expect(read(name, text)).rejects.toThrow(message)
})

test('reads a directory by split', async () => {
  const inside = join(directory, 'set')
  await expect(readRecords(inside)).rejects.toThrow('set: no such file or directory')
  await mkdir(join(inside, 'data'), { recursive: true })
  await writeFile(join(inside, 'rows.jsonl'), '{"text":"all"}')
  const texts = async (split?: string) =>
    (await readRecords(inside, split)).records.map(({ values }) => values['text'])
  expect(await texts()).toEqual(['all'])
  await writeFile(join(inside, 'data', 'train-00000-of-00001.jsonl'), '{"text":"train"}')
  await writeFile(join(inside, 'data', 'test-00000-of-00001.jsonl'), '{"text":"test"}')
  expect(await texts()).toEqual(['train'])
  expect(await texts('test')).toEqual(['test'])
  await expect(readRecords(inside, 'eval')).rejects.toThrow(
    'no file of the split "eval"; found data/test-00000-of-00001.jsonl, data/train-00000-of-00001.jsonl, rows.jsonl',
  )
})

test('CSV keeps quoted line breaks and quotes, and skips empty lines', () => {
  expect(parseCsv('x', '\u{feff}a,b\n"1\r\n2","say ""hi"""\n\n,\n"",""')).toEqual([
    { where: 'x:2', values: { a: '1\r\n2', b: 'say "hi"' } },
    { where: 'x:5', values: { a: '', b: '' } },
    { where: 'x:6', values: { a: '', b: '' } },
  ])
  expect(() => parseCsv('x', '')).toThrow('x: empty; the first line must name the columns')
  expect(() => parseCsv('x', 'a\n"1"2')).toThrow('x:2: unclosed quote, or text after a closing quote')
})

test('reads a file with more rows than a call can have arguments', async () => {
  const path = await write('many.jsonl', '{"text":"a"}\n'.repeat(200_000))
  expect((await readRecords(path)).records).toHaveLength(200_000)
})
