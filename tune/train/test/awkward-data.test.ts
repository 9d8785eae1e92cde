/**
 * Real-world data files in each format with each defect: which rows are used, which are skipped and why, with
 * the tokenizer and template of Qwen3.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadTokenizer } from '@cairn-tune/weights'
import { afterAll, expect, test } from 'vitest'
import { QWEN3_DIRECTORY } from '@cairn-tune/weights/test/qwen3-tokenizer'
import { tokenizeExamples } from '../src/data/documents.ts'
import { loadDataset } from '../src/data/load-dataset.ts'
import { readExamplesOf } from '../src/read-data.ts'
import { summarise } from '../src/data/skips.ts'
import { createBench } from './run.ts'

const bench = await createBench()
const directory = mkdtempSync(join(tmpdir(), 'cairn-awkward-'))
const qwen3 = await loadTokenizer(QWEN3_DIRECTORY)
afterAll(() => {
  bench.remove()
  rmSync(directory, { recursive: true })
})

async function take(file: string, content: string | Uint8Array, columns: readonly string[] = []) {
  const path = join(directory, file)
  writeFileSync(path, content)
  const { examples, skipped, placeOf } = await loadDataset(path, {
    env: {},
    seed: 1,
    columns,
    badRows: 'skip',
  })
  const { documents, refused, dropped } = tokenizeExamples(examples, qwen3, {
    maxSeqLength: 4096,
    trainOn: 'assistant',
    tooLong: 'error',
  })
  const { reasons } = summarise([
    ...skipped,
    ...refused.map(({ index, reason }) => ({ where: placeOf(index), reason })),
  ])
  return {
    trained: documents.map(({ tokens, isTrained }) =>
      qwen3.decode([...tokens].filter((_, i) => isTrained[i] === 1)),
    ),
    dropped,
    skipped: reasons.map(
      ({ reason, rows, first }) => `${first.replace(`${path}:`, '').trim()} ×${rows} ${reason}`,
    ),
  }
}

const jsonl = (...rows: unknown[]) =>
  rows.map(row => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
const parquet = (name: string) => readFileSync(new URL(`reference/${name}.parquet`, import.meta.url))
const said = (text: string) => `${text}<|im_end|>\n`
const good = { question: 'How many?', answer: 'Seven.' }
const chat = (...messages: object[]) => ({ messages })
const user = { role: 'user', content: 'Hi' }
const assistant = { role: 'assistant', content: 'Hello.' }
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'add', arguments: '{"a": 1}' } }],
}
const called = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'

type Case = [
  what: string,
  file: string,
  content: string | Uint8Array,
  trained: readonly string[],
  skipped?: readonly RegExp[],
  columns?: readonly string[],
]

const cases: Case[] = [
  [
    'a call with null content',
    'a.jsonl',
    jsonl(chat(user, call, { role: 'tool', content: '1' }, assistant)),
    [said(called) + said('Hello.')],
  ],
  [
    'content in parts',
    'b.jsonl',
    jsonl(chat({ role: 'user', content: [{ type: 'text', text: 'a' }] }, assistant)),
    [said('Hello.')],
  ],
  [
    'a picture',
    'c.jsonl',
    jsonl(
      chat({ role: 'user', content: [{ type: 'image_url', image_url: {} }] }, assistant),
      good,
      chat(user, assistant),
    ),
    [said('Hello.')],
    [
      /^1 ×1 unsupported part of type "image_url"/,
      /^2 ×1 has the columns question, answer; expected messages/,
    ],
  ],
  [
    'two turns of the assistant in a row',
    'd.jsonl',
    jsonl(chat(user, assistant, assistant), chat(user, assistant)),
    [said('Hello.') + said('Hello.'), said('Hello.')],
  ],
  [
    'a conversation that the assistant begins',
    'e.jsonl',
    jsonl(chat(assistant, user, assistant), chat(user, assistant)),
    [said('Hello.')],
    [/^1 ×1 cannot find where message 1 of 3 starts/],
  ],
  [
    'a person who says nothing',
    'f.jsonl',
    jsonl(chat({ role: 'user', content: null }, assistant), chat(user, assistant)),
    [said('Hello.')],
    [/^1 ×1 a message needs content, unless its role is assistant/],
  ],
  [
    'an assistant that neither says nor calls anything',
    'g.jsonl',
    jsonl(chat(user, { role: 'assistant', content: null }), chat(user, assistant)),
    [said('Hello.')],
    [/^1 ×1 an assistant message has neither content nor tool calls/],
  ],
  [
    'turns that are shown and not learned',
    'h.jsonl',
    jsonl(chat(user, { ...assistant, weight: 0 }, user, { ...assistant, content: 'Again.', weight: 1 })),
    [said('Again.')],
  ],
  [
    'a weight that is neither 0 nor 1',
    'i.jsonl',
    jsonl(chat(user, { ...assistant, weight: 0.5 }), chat(user, assistant)),
    [said('Hello.')],
    [/^1 ×1 weight: weight must be 0 or 1/],
  ],
  [
    'an empty list of messages, and none',
    'j.jsonl',
    jsonl(chat(), { messages: 'Hi' }, chat(user, assistant)),
    [said('Hello.')],
    [/^1 ×1 the list of messages is empty/, /^2 ×1 expected a list of messages/],
  ],
  [
    'instructions of a developer',
    'k.jsonl',
    jsonl(chat({ role: 'developer', content: 'Be brief.' }, user, assistant)),
    [said('Hello.')],
  ],
  [
    'ShareGPT',
    'l.json',
    JSON.stringify([
      {
        system: 'Be brief.',
        conversations: [
          { from: 'human', value: 'Hi' },
          { from: 'gpt', value: 'Hello.' },
        ],
      },
    ]),
    [said('Hello.')],
  ],
  [
    'ShareGPT with calls',
    'm.jsonl',
    jsonl({
      tools: '[{"type": "function", "function": {"name": "add", "parameters": {}}}]',
      conversations: [
        { from: 'human', value: 'Add.' },
        { from: 'function_call', value: '{"name": "add", "arguments": {"a": 1}}' },
        { from: 'observation', value: '1' },
        { from: 'gpt', value: 'Hello.' },
      ],
    }),
    [said(called) + said('Hello.')],
  ],
  [
    'ShareGPT with a call that is none, and two systems',
    'n.jsonl',
    jsonl(
      {
        conversations: [
          { from: 'human', value: 'a' },
          { from: 'function_call', value: 'add 1' },
        ],
      },
      {
        system: 'a',
        conversations: [
          { from: 'system', value: 'b' },
          { from: 'human', value: 'a' },
          { from: 'gpt', value: 'b' },
        ],
      },
      {
        conversations: [
          { from: 'human', value: 'a' },
          { from: 'gpt', value: 'Hello.' },
        ],
      },
    ),
    [said('Hello.')],
    [/^1 ×1 a function_call is not JSON/, /^2 ×1 has a column system, and its conversation/],
  ],
  [
    'Alpaca',
    'o.json',
    JSON.stringify([
      { instruction: 'Add.', input: '1 and 1', output: 'Two.' },
      { instruction: 'Greet.', input: '', output: 'Hello.', system: 'Be brief.', history: [['Hi', 'Hi.']] },
    ]),
    [said('Two.'), said('Hi.') + said('Hello.')],
  ],
  [
    'Alpaca without an answer',
    'p.jsonl',
    jsonl({ instruction: 'a', output: null }, { instruction: 'a' }, { instruction: 'a', output: 'Two.' }),
    [said('Two.')],
    [
      /^1 ×1 output: .*expected string, received null/,
      /^2 ×1 has the columns instruction; expected instruction \+ output/,
    ],
  ],
  [
    'prompt and completion as messages',
    'q.jsonl',
    jsonl({ prompt: [user, assistant, user], completion: [{ role: 'assistant', content: 'Again.' }] }),
    [said('Again.')],
  ],
  [
    'a prompt of messages with a completion of text',
    'r.jsonl',
    jsonl({ prompt: [user], completion: 'Hello.' }, { prompt: [user], completion: [assistant] }),
    [said('Hello.')],
    [/^1 ×1 prompt and completion must both be texts, or both lists of messages/],
  ],
  ['prompt and completion as texts', 's.jsonl', jsonl({ prompt: '1+1=', completion: '2' }), ['2<|im_end|>']],
  [
    'other names of columns',
    't.jsonl',
    jsonl({ problem: 'a', solution: 'Two.', text: 'ignored' }),
    [said('Two.')],
    [],
    ['question=problem', 'answer=solution'],
  ],
  [
    'a line that is cut, and NaN',
    'u.jsonl',
    `${jsonl(good, '{"question": "a", "answer": NaN}', good)}\n{"question": "a", "ans`,
    [said('Seven.'), said('Seven.')],
    [/^2 ×1 not JSON/, /^4 ×1 not JSON/],
  ],
  [
    'a byte order mark and lines of Windows',
    'v.jsonl',
    `\u{feff}${JSON.stringify(good)}\r\n\r\n${JSON.stringify(good)}\r\n`,
    [said('Seven.'), said('Seven.')],
  ],
  [
    'a line in another encoding',
    'w.jsonl',
    Buffer.concat([
      Buffer.from(`${JSON.stringify(good)}\n`),
      Buffer.from('{"question": "caf\u{e9}", "answer": "1"}\n', 'latin1'),
      Buffer.from(JSON.stringify(good)),
    ]),
    [said('Seven.'), said('Seven.')],
    [/^2 ×1 not UTF-8/],
  ],
  [
    'an unpaired surrogate',
    'x.jsonl',
    jsonl(
      '{"question": "a\\ud83d", "answer": "b"}',
      '{"messages": 1, "question": "a", "answer": "\\ude00"}',
      good,
    ),
    [said('Seven.')],
    [/^1 ×1 question: a text contains an unpaired/, /^2 ×1 answer: a text contains an unpaired/],
  ],
  [
    'numbers of calls and tools as Python writes them',
    'lm.jsonl',
    `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls":
      [{"function": {"name": "add", "arguments": {"a": 1.0, "b": 1e-07}}}]}]}`.replaceAll('\n', ''),
    [said('<tool_call>\n{"name": "add", "arguments": {"a": 1.0, "b": 1e-07}}\n</tool_call>')],
  ],
  ['lines in a file named .json', 'y.json', jsonl(good, good), [said('Seven.'), said('Seven.')]],
  [
    'rows that are no objects',
    'z.json',
    JSON.stringify([good, null, 'a', [1]]),
    [said('Seven.')],
    [/^row 2 ×1 must be an object with columns, got null/, /^row 3 ×1 .*got "a"/, /^row 4 ×1 .*got \[1\]/],
  ],
  [
    'a table with a row too short',
    'aa.csv',
    'question,answer\na,Two.\nb\n"c, d",Two.\n',
    [said('Two.'), said('Two.')],
    [/^3 ×1 has 1 fields, but the first line names 2 columns/],
  ],
  [
    'Parquet whose messages have every key, most of them null',
    'ac.parquet',
    parquet('awkward-chat'),
    [said('Hello.'), said(called)],
    [
      /^row 3 ×1 an assistant message has neither content nor tool calls/,
      /^row 4 ×1 has the columns messages|expected a list of messages/,
    ],
  ],
  [
    'Parquet with texts that are null',
    'ad.parquet',
    parquet('awkward-questions'),
    [said('Seven.'), said('')],
    [/^row 2 ×1 answer: .*expected string, received null/, /^row 3 ×1 question: .*expected string/],
  ],
  [
    'numbers in place of texts',
    'ab.jsonl',
    jsonl({ question: '1 + 1', answer: 2 }, good),
    [said('Seven.')],
    [/^1 ×1 answer: .*expected string, received number/],
  ],
]

/** The data set entry of a run's record. */
async function record(file: string, columns: readonly string[]) {
  const config = bench.config({
    dataset: join(directory, file),
    dataset_columns: columns.length > 0 ? columns.join(',') : undefined,
    max_seq_length: 4096,
  })
  const options = { maxSeqLength: 4096, packing: true, seed: 1, batchSize: 1, padTokenId: 0 }
  const source = { config, directory: QWEN3_DIRECTORY, tokenizer: qwen3, hub: { env: {} } }
  return (await readExamplesOf(source, options)).dataset
}

test.each(cases)('%s', async (_, file, content, trained, skipped = [], columns = []) => {
  const taken = await take(file, content, columns)
  expect(taken.trained).toEqual(trained)
  expect(taken.skipped).toHaveLength(skipped.length)
  for (const [i, reason] of skipped.entries()) expect(taken.skipped[i]).toMatch(reason)
  const { documents, dropped, skipped: summary } = await record(file, columns)
  expect({ documents, dropped }).toEqual({ documents: trained.length, dropped: taken.dropped })
  const counts = taken.skipped.map(line => Number(/ ×(\d+) /.exec(line)?.[1]))
  expect(summary.reasons.map(({ rows }) => rows)).toEqual(counts)
  expect(summary.rows).toBe(counts.reduce((sum, count) => sum + count, 0))
})

test.each<
  [what: string, file: string, content: string | Uint8Array, says: RegExp, columns?: readonly string[]]
>([
  [
    'UTF-16',
    'ba.jsonl',
    Buffer.from(`\u{feff}${JSON.stringify(good)}`, 'utf16le'),
    /is UTF-16; save it as UTF-8/,
  ],
  [
    'a table in another encoding',
    'bb.csv',
    Buffer.from('question,answer\ncaf\u{e9},a', 'latin1'),
    /not UTF-8/,
  ],
  ['one object in place of rows', 'bc.json', JSON.stringify({ data: [good] }), /must be an array of objects/],
  [
    'pairs of preference',
    'bd.jsonl',
    jsonl({ prompt: 'a', chosen: 'b', rejected: 'c' }),
    /use method dpo, orpo or kto to train on such pairs/,
  ],
  ['no rows', 'be.jsonl', '\n\n', /has no rows/],
  ['a table whose quote is not closed', 'bh.csv', 'question,answer\na,"b\n', /bh\.csv:2: unclosed quote/],
  ['Parquet that is cut', 'bi.parquet', parquet('chat-none').subarray(0, 300), /invalid Parquet file/],
  ['a file of another kind', 'bj.doc', 'a', /unknown format; known: \.jsonl/],
  [
    'nothing but bad rows',
    'bf.jsonl',
    jsonl('{', '{', { question: 'a' }),
    /bf\.jsonl:1: not JSON .*; none of 3 rows can be used\n.*bf\.jsonl:3: has the columns question; expected/,
  ],
  [
    'a name of a column that no row has',
    'bg.jsonl',
    jsonl({ problem: 'a', answer: 'b' }),
    /dataset_columns: no row has the column "task"; the first row has problem, answer/,
    ['question=task'],
  ],
])('rejects the whole file: %s', async (_, file, content, says, columns = []) => {
  await expect(take(file, content, columns)).rejects.toThrow(says)
})

/** Promise T4.2: Unusable rows, and only those, are skipped, counted and named. */
test("skipped rows are logged, counted and named in the run's record; bad_rows: error stops at the first", async () => {
  const dataset = join(directory, 'run.jsonl')
  const text = { text: 'one and one is two' }
  writeFileSync(dataset, jsonl(text, '{', { body: 'x' }, text, '{"'))
  const notes: string[] = []
  const settings = { dataset, max_steps: 1, threads: 1 }
  const result = await bench.run(settings, { onNote: line => notes.push(line) })
  expect(result.skippedRows).toBe(3)
  expect(notes.find(line => line.startsWith('skipped 3 rows: '))).toMatch(
    /× not JSON .*\(first .*run\.jsonl:2\).*1 × has the columns body; expected text \(first .*run\.jsonl:3\)/,
  )
  const record = JSON.parse(readFileSync(join(result.config.output_dir, 'run.json'), 'utf8')) as {
    dataset: { documents: number; skipped: { rows: number; reasons: { first: string }[] } }
  }
  expect(record.dataset).toMatchObject({ documents: 2, skipped: { rows: 3 } })
  expect(record.dataset.skipped.reasons.map(({ first }) => first)).toContain(`${dataset}:3`)
  await expect(bench.run({ ...settings, bad_rows: 'error' })).rejects.toThrow(
    /run\.jsonl:2: not JSON .*; 2 more rows are also bad; set bad_rows: skip to skip them/,
  )
})
