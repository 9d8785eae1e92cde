/**
 * The loop between the two products (docs/loop.md): a session that a person rated good becomes training data,
 * the data becomes an adapter, and the adapter is the model of the next session. The test uses only the
 * command lines and HTTP.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ProgramOptions, run, serve } from './program.ts'

type LoggedEvent = { id: number; type: string; data: Record<string, unknown> }
type Answered = {
  message: { content: string; tool_calls?: { function: { name: string; arguments: string } }[] }
  model: string
  input_tokens: number
  output_tokens: number
  finish_reason: string
}

const QUESTION = 'Where do we moor?'
const ANSWER = 'Noted: berth 7.'
const NOTE = { path: 'mooring.txt', content: 'berth 7' }
/** One tool, so that the model's prompt is short. Greedy decoding, so that the same prompt has one answer. */
const AGENTS = { assistant: { system: 'You keep notes.', tools: ['write_file'], temperature: 0 } }
const SCENARIO = {
  rules: [
    {
      when: { user: 'moor' },
      steps: [{ tool_calls: [{ name: 'write_file', arguments: NOTE }] }, { text: ANSWER }],
    },
    { answer: { text: 'Mooring' } },
  ],
}

/** A directory with a cairn.yaml (JSON is YAML) and its own server. */
function placeOf(directory: string, models: object): ProgramOptions {
  mkdirSync(directory)
  writeFileSync(join(directory, 'cairn.yaml'), JSON.stringify({ models, agents: AGENTS }))
  return { cwd: directory, env: { PORT: '0', HOST: '127.0.0.1' } }
}

/** Asks in a new session and returns its whole log. */
async function ask(place: ProgramOptions): Promise<{ session: string; events: LoggedEvent[] }> {
  const { session_id, status } = JSON.parse(await run('cairn', ['send', '--json', QUESTION], place)) as {
    session_id: string
    status: string
  }
  expect(status).toBe('completed')
  const lines = (await run('cairn', ['export', session_id], place)).trimEnd().split('\n')
  return { session: session_id, events: lines.map(line => JSON.parse(line) as LoggedEvent) }
}
const answersOf = (events: readonly LoggedEvent[]) =>
  events.filter(event => event.type === 'llm.response').map(({ id, data }) => ({ id, ...(data as Answered) }))
/** Calls and text. Ids differ, and so does the whitespace of JSON. */
const said = ({ message }: Answered) => ({
  text: message.content,
  calls: (message.tool_calls ?? []).map(call => [
    call.function.name,
    JSON.parse(call.function.arguments) as unknown,
  ]),
})

/** Promise 10.11, T6: An adapter trained on an exported good answer gives that answer in the next session. */
test('an adapter trained on an exported good answer gives that answer again, with its tool call', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-loop-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  const here: ProgramOptions = { cwd: directory }

  // A session with a tool call by the scripted model. A person rates the answer.
  const before = placeOf(join(directory, 'before'), {
    default: 'demo/scripted',
    providers: { demo: { kind: 'scripted', scenario: './scenario.yaml' } },
  })
  writeFileSync(join(before.cwd, 'scenario.yaml'), JSON.stringify(SCENARIO))
  const first = await serve('cairn', [], before)
  const { session, events } = await ask(before)
  const taught = answersOf(events)
  await run('cairn', ['rate', session, 'up'], before)
  await run('cairn', ['export', '--all', '--format', 'sft', '--out', join(directory, 'rated.jsonl')], before)
  await first.stop()

  // The same file, unchanged, trains an adapter for an untrained model.
  await run('cairn-tune', ['model', 'new', 'base', '--shape', 'tiny'], here)
  await run(
    'cairn-tune',
    [
      'train',
      '--model',
      'base',
      '--dataset',
      'rated.jsonl',
      '--output-dir',
      'tuned',
      '--max-steps',
      '200',
      '--learning-rate',
      '0.003',
      '--lora-rank',
      '64',
      '--lora-alpha',
      '128',
      '--max-seq-length',
      '768',
      '--too-long',
      'error',
      '--per-device-train-batch-size',
      '1',
      '--gradient-accumulation-steps',
      '1',
      '--threads',
      '2',
      '--json',
    ],
    here,
  )
  const model = await serve(
    'cairn-tune',
    [
      'base',
      '--max-model-len',
      '2048',
      '--max-lora-rank',
      '64',
      '--enable-lora',
      '--lora-modules',
      'rated=tuned/adapter',
      '--port',
      '0',
      '--threads',
      '2',
      '--kv-cache-memory',
      '64MiB',
    ],
    here,
  )

  // The base alone gives a different answer.
  const asked = JSON.stringify({
    model: 'base',
    messages: [{ role: 'user', content: QUESTION }],
    max_tokens: 40,
    temperature: 0,
  })
  const base = (await (
    await fetch(`${model.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: asked,
    })
  ).json()) as { choices: { message: { content: string } }[] }
  expect(base.choices[0]!.message.content).not.toContain('berth')

  // The adapter is the model of sessions on another server.
  const after = placeOf(join(directory, 'after'), {
    default: 'ours/rated',
    providers: { ours: { kind: 'openai', base_url: `${model.url}/v1` } },
    catalog: { 'ours/rated': { context_window: 2048 } },
  })
  await serve('cairn', [], after)
  const again = await ask(after)
  const given = answersOf(again.events)
  expect(given.map(said)).toEqual(taught.map(said))
  expect(given.map(said)).toEqual([
    { text: '', calls: [['write_file', NOTE]] },
    { text: ANSWER, calls: [] },
  ])
  for (const answer of given) {
    expect(answer.model).toBe('ours/rated')
    expect(Math.min(answer.input_tokens, answer.output_tokens)).toBeGreaterThan(0)
  }
  expect(given.map(answer => answer.finish_reason)).toEqual(['tool_calls', 'stop'])
  // Its call ran: the file is in the session's workspace.
  expect(again.events.find(event => event.type === 'tool.result')?.data).toMatchObject({
    name: 'write_file',
    content: expect.stringContaining('"bytes":7') as string,
  })
  expect(readFileSync(join(directory, 'rated.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(1)
})
