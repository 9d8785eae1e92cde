/** Rated sessions as training data, exported by the command line. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CairnClient } from '@cairn/client'
import { expect, test } from 'vitest'
import { cairn, makePlace, startService } from './server.ts'
import { newSession, runTurn } from './session.ts'

const SCENARIO = {
  rules: [
    {
      when: { user: '^note$', step: 0 },
      answer: {
        text: 'I write it down.',
        tool_calls: [{ name: 'write_file', arguments: { path: 'note.txt', content: 'kept' } }],
      },
    },
    { when: { user: '^pick$', model: 'good' }, answer: { text: 'the right one' } },
    { when: { user: '^pick$' }, answer: { text: 'the wrong one' } },
    { when: { user: '^note$' }, answer: { text: 'Noted.' } },
    { answer: { text: 'Done, with key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD.' } },
  ],
}

/** Runs a turn and rates its last answer. */
async function rated(
  client: CairnClient,
  text: string,
  rating: 'up' | 'down',
  config: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await client.call('createSession', { body: { config } })
  const answers = (await runTurn(client, id, text)).filter(event => event.type === 'llm.response')
  await client.call('giveFeedback', {
    params: { id, event_id: String(answers.at(-1)!.id) },
    body: { rating },
  })
  return id
}
const parsed = (stdout: string): Record<string, unknown>[] =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Record<string, unknown>)

test('three exports contain the rated sessions as examples, byte-identical, and no unrated or denied ones', async () => {
  const place = makePlace({
    scenario: SCENARIO,
    config: { agents: { assistant: {}, strict: { governance: { denied_tools: ['write_file'] } } } },
  })
  const { client } = await startService(place)
  const note = await rated(client, 'note', 'up')
  await rated(client, 'hello', 'up')
  await newSession(client)
  const { id: denied } = await client.call('createSession', { body: { agent: 'strict' } })
  const last = (await runTurn(client, denied, 'note')).findLast(event => event.type === 'llm.response')
  await client.call('giveFeedback', {
    params: { id: denied, event_id: String(last!.id) },
    body: { rating: 'up' },
  })

  const exports = []
  for (let i = 0; i < 3; i++) exports.push(await cairn(place, ['export', '--all', '--format', 'sft']))
  expect(exports.map(({ code }) => code)).toEqual([0, 0, 0])
  expect(new Set(exports.map(({ stdout }) => stdout)).size).toBe(1)
  const examples = parsed(exports[0]!.stdout)
  expect(examples).toHaveLength(2)
  const example = examples.find(one => (one['metadata'] as { session_id: string }).session_id === note)
  expect(example).toMatchObject({ tools: [{ type: 'function', function: { name: 'write_file' } }] })
  expect((example!['messages'] as { role: string }[]).map(message => message.role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
  expect(exports[0]!.stdout).not.toContain('sk-abcdefghij')

  expect(
    parsed((await cairn(place, ['export', '--all', '--format', 'sft', '--keep', 'policy.denied'])).stdout),
  ).toHaveLength(3)
  const atif = parsed((await cairn(place, ['export', note, '--format', 'atif'])).stdout)
  expect(atif).toMatchObject([
    { schema_version: 'ATIF-v1.8', session_id: note, agent: { name: 'assistant' } },
  ])
  expect((await cairn(place, ['export', note, '--format', 'sft', '--keep', 'tool.call'])).code).toBe(2)
})

test('exports a good and a bad answer to the same message as a pair', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const { client } = await startService(place)
  const bad = await rated(client, 'pick', 'down')
  const good = await rated(client, 'pick', 'up', { model: 'test/good' })
  const pairs = parsed((await cairn(place, ['export', '--all', '--format', 'dpo'])).stdout)
  expect(pairs).toMatchObject([
    {
      prompt: [{ role: 'user', content: 'pick' }],
      chosen: [{ role: 'assistant', content: 'the right one' }],
      rejected: [{ role: 'assistant', content: 'the wrong one' }],
      metadata: { chosen: { session_id: good }, rejected: { session_id: bad } },
    },
  ])
})

const RICH = {
  rules: [
    {
      when: { schema: 'outcome_verdict', user: 'second version' },
      answer: { json: { result: 'satisfied', explanation: 'It is there twice.', feedback: '' } },
    },
    {
      when: { schema: 'outcome_verdict' },
      answer: { json: { result: 'needs_revision', explanation: 'Only once.', feedback: 'Write it again.' } },
    },
    { when: { user: 'goal is not reached' }, answer: { text: 'This is the second version.' } },
    {
      when: { user: '^pick$', model: 'good' },
      steps: [{ tool_calls: [{ name: 'list_files', arguments: {} }] }, { text: 'the right one' }],
    },
    {
      when: { user: '^pick$' },
      steps: [
        { tool_calls: [{ name: 'read_file', arguments: { path: 'missing.txt' } }] },
        { text: 'the wrong one' },
      ],
    },
    {
      steps: [
        {
          reasoning: 'Two things at once: 日本語 and a "quote".',
          text: 'I write and look.',
          tool_calls: [
            {
              name: 'write_file',
              arguments: { path: 'n.txt', content: 'Zürich ☂\n\t<tool_call>{}</tool_call>' },
            },
            { name: 'todo', arguments: { todos: [{ id: 'a', content: 'write', status: 'completed' }] } },
          ],
        },
        {
          tool_calls: [
            { name: 'read_file', arguments: { path: 'nowhere.txt' } },
            { name: 'list_files', raw_arguments: '{not json' },
          ],
        },
        { text: 'Written; one file is not there.' },
      ],
    },
  ],
}

/** Promise 12: Three exports of the same sessions are byte-identical. */
test('three exports of the same sessions are byte-identical in every format', async () => {
  const place = makePlace({ scenario: RICH })
  const { client } = await startService(place)
  await rated(client, 'pick', 'down')
  await rated(client, 'pick', 'up', { model: 'test/good' })
  await rated(client, 'do something', 'up')
  await rated(client, '/goal two versions', 'up')
  for (const format of ['jsonl', 'sft', 'dpo', 'kto', 'atif']) {
    const file = (nth: number): string => join(place.dir, `${nth}.${format}.jsonl`)
    for (const nth of [1, 2, 3])
      expect((await cairn(place, ['export', '--all', '--format', format, '--out', file(nth)])).code).toBe(0)
    const [first, ...others] = [1, 2, 3].map(nth => readFileSync(file(nth)))
    expect(first!.length).toBeGreaterThan(100)
    for (const other of others) expect(first!.equals(other)).toBe(true)
    // For the public validators: agent/app/test/reference/judge_exports.py.
    const keep = process.env['KEEP_EXPORTS']
    if (keep !== undefined) copyFileSync(file(1), join(keep, `${format}.jsonl`))
  }
})
