/** Transcripts that the programs themselves wrote, imported, continued, rated and exported. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionEvent } from '@cairn/protocol'
import { expect, test } from 'vitest'
import type { FileReport } from '../src/import/import-file.ts'
import { cairn, makePlace, type ServerDirs, startService } from './server.ts'
import { readLog, runTurn } from './session.ts'

const TRANSCRIPTS = fileURLToPath(new URL('transcripts/', import.meta.url))
const SCENARIO = { rules: [{ answer: { text: 'I continue.' } }] }

async function importing(
  place: ServerDirs,
  ...args: string[]
): Promise<{ code: number | null; reports: FileReport[] }> {
  const { code, stdout, stderr } = await cairn(place, ['import', '--json', ...args])
  expect(stdout, stderr).not.toBe('')
  return { code, reports: JSON.parse(stdout) as FileReport[] }
}

type Message = { role: string; content: string; tool_call_id?: string; tool_calls?: { id: string }[] }
const historyOf = (log: readonly SessionEvent[]): Message[] =>
  log.flatMap(event => (event.type === 'user.message' ? ((event.data.history ?? []) as Message[]) : []))
const hashOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

/** The texts and calls of the scripted model, and the output of its commands (dev/interop/transcripts). */
const CALLS = ['call_a1', 'call_a2', 'call_b1']
const PRINTED = ['one', 'two', 'three']

test.each([
  ['claude-code', 'claude-code.jsonl'],
  ['codex', 'codex.jsonl'],
  ['opencode', 'opencode.json'],
])(
  'a transcript of %s keeps every call and result in order, and a second import adds nothing',
  async (format, name) => {
    const place = makePlace({ scenario: SCENARIO })
    const { client } = await startService(place)
    const { code, reports } = await importing(place, join(TRANSCRIPTS, name))
    expect([code, reports[0]?.errors, reports[0]?.format]).toEqual([0, [], format])
    const [sent] = reports[0]?.conversations ?? []
    expect(sent).toMatchObject({ calls: 3, results: 3 })
    const id = sent?.session_id ?? ''
    const log = await readLog(client, id)
    const history = historyOf(log)
    expect(history).toHaveLength(sent?.total ?? 0)
    expect(history.flatMap(({ tool_calls = [] }) => tool_calls.map(call => call.id))).toEqual(CALLS)
    const results = history.filter(({ role }) => role === 'tool')
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(CALLS)
    results.forEach(({ content }, at) => expect(content).toContain(PRINTED[at]))
    const said = history.filter(({ role, content }) => role === 'assistant' && content !== '')
    expect(said.map(({ content }) => content)).toEqual(['I look around.', 'All three ran.'])

    const again = await importing(place, join(TRANSCRIPTS, name))
    expect(again.reports[0]?.conversations[0]).toMatchObject({
      session_id: id,
      added: 0,
      sha256: sent?.sha256,
    })
    expect(hashOf(historyOf(await readLog(client, id)))).toBe(hashOf(history))
  },
)

/** Promise 6.12: An imported session can be continued, rated and exported. */
test('an imported session is continued by the agent, rated, exported, and its export imported', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const { client } = await startService(place)
  const { reports } = await importing(place, join(TRANSCRIPTS, 'codex.jsonl'))
  const id = reports[0]?.conversations[0]?.session_id ?? ''
  expect((await cairn(place, ['rate', id, 'up'])).code).toBe(0)
  const sft = async () => (await cairn(place, ['export', id, '--format', 'sft'])).stdout
  const [example] = (await sft()).trim().split('\n')
  const { messages, metadata } = JSON.parse(example ?? '') as {
    messages: Message[]
    metadata: { session_id: string }
  }
  expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: 'All three ran.' })
  expect(messages.filter(({ role }) => role === 'tool')).toHaveLength(3)
  expect(metadata.session_id).toBe(id)
  const atif = JSON.parse((await cairn(place, ['export', id, '--format', 'atif'])).stdout) as {
    steps: object[]
  }
  expect(atif.steps.length).toBeGreaterThan(3)

  const turn = await runTurn(client, id, 'And now?')
  expect(turn.find(({ type }) => type === 'llm.response')).toMatchObject({
    data: { message: { content: 'I continue.' } },
  })
  // An imported export is the same conversation as the original.
  writeFileSync(join(place.dir, 'sft.jsonl'), `${example}\n`)
  const round = await importing(place, join(place.dir, 'sft.jsonl'))
  const copied = historyOf(await readLog(client, round.reports[0]?.conversations[0]?.session_id ?? ''))
  expect(copied).toEqual(messages)
  // The continued session accepts nothing more, and what it has is not an error.
  expect((await importing(place, join(TRANSCRIPTS, 'codex.jsonl'))).reports[0]).toMatchObject({
    errors: [],
    conversations: [{ added: 0 }],
  })
})

test('a damaged line is named and loses nothing else; a longer file adds the rest; a secret is redacted', async () => {
  const place = makePlace({ scenario: SCENARIO })
  const { client } = await startService(place)
  const lines = readFileSync(join(TRANSCRIPTS, 'claude-code.jsonl'), 'utf8').trim().split('\n')
  const file = join(place.dir, 'session.jsonl')
  const whole = await importing(place, join(TRANSCRIPTS, 'claude-code.jsonl'))
  const more = {
    ...(JSON.parse(lines.find(line => line.includes('"type":"user"')) ?? '') as object),
    message: { role: 'user', content: 'Key sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD.' },
  }
  writeFileSync(
    file,
    [lines[0], '{"type":"user","sessio', ...lines.slice(1), JSON.stringify(more)].join('\n'),
  )
  const { code, reports } = await importing(place, file)
  expect(code).toBe(0)
  expect(reports[0]?.damaged).toMatchObject([{ line: 2 }])
  expect(reports[0]?.conversations[0]).toMatchObject({
    session_id: whole.reports[0]?.conversations[0]?.session_id,
    added: 1,
  })
  const history = historyOf(await readLog(client, reports[0]?.conversations[0]?.session_id ?? ''))
  expect(JSON.stringify(history)).not.toContain('sk-abcdefghij')

  // A file whose beginning changed is not the conversation that was imported.
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('I look around.', 'I look elsewhere.'))
  const changed = await importing(place, file)
  expect([changed.code, changed.reports[0]?.errors[0]]).toEqual([
    1,
    expect.stringContaining('have changed since'),
  ])
})

test('a file of no known format is an error, and the others of its folder are imported', async () => {
  const place = makePlace({ scenario: SCENARIO })
  await startService(place)
  writeFileSync(join(place.dir, 'a.json'), '{"hello": 1}')
  writeFileSync(join(place.dir, 'b.json'), JSON.stringify([{ role: 'user', content: 'Hi.' }], null, 2))
  const { code, reports } = await importing(place, join(place.dir, 'a.json'), join(place.dir, 'b.json'))
  expect(code).toBe(1)
  expect(reports[0]?.errors[0]).toContain('Unknown format')
  expect(reports[1]?.conversations).toMatchObject([{ added: 1 }])
})
