/**
 * The loop with contrary ratings (docs/loop.md): an answer rated down and one rated up become a pair, the
 * pair changes the adapter, and the next session gives the answer that was rated up.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ProgramOptions, run, serve } from './program.ts'

const QUESTION = 'Where do we moor?'
const OTHER_QUESTION = 'Where did we moor?'
const [WRONG, RIGHT] = ['Noted: berth 9.', 'Noted: berth 7.']

const AGENT = { system: 'You keep notes.', tools: [], temperature: 0 }

const configure = (place: ProgramOptions, models: object, agents: object = { assistant: AGENT }) =>
  writeFileSync(join(place.cwd, 'cairn.yaml'), JSON.stringify({ models, agents }))

/** A server whose scripted model gives these answers. */
function serveAnswers(
  place: ProgramOptions,
  answers: Readonly<Record<string, string>>,
): ReturnType<typeof serve> {
  const rules = Object.entries(answers).map(([question, text]) => ({
    when: { user: `^${question.replace('?', '[?]')}` },
    answer: { text },
  }))
  writeFileSync(
    join(place.cwd, 'scenario.yaml'),
    JSON.stringify({ rules: [...rules, { answer: { text: 'Mooring' } }] }),
  )
  return serve('cairn', [], place)
}

/** Starts a session with this question and rates its answer up. Returns the session id. */
async function ratedUp(place: ProgramOptions, question: string): Promise<string> {
  const sent = await run('cairn', ['send', '--json', question], place)
  const { session_id } = JSON.parse(sent) as { session_id: string }
  await run('cairn', ['rate', session_id, 'up'], place)
  return session_id
}

/** Trains an adapter with settings that memorize one answer. */
const train = (
  place: ProgramOptions,
  dataset: string,
  output: string,
  settings: Readonly<Record<string, string>>,
) =>
  run(
    'cairn-tune',
    [
      'train',
      ...Object.entries({
        dataset,
        'output-dir': output,
        'max-seq-length': '256',
        'per-device-train-batch-size': '1',
        'gradient-accumulation-steps': '1',
        'too-long': 'error',
        threads: '2',
        ...settings,
      }).flatMap(([key, value]) => [`--${key}`, value]),
    ],
    place,
  )

/** Promise T4.9: Ratings of sessions change the answers of later sessions. */
test('a rating down and a rating up become a pair, and the next session gives the answer that was rated up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-preferences-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  const here: ProgramOptions = { cwd: directory }
  const sessions: ProgramOptions = { cwd: join(directory, 'sessions'), env: { PORT: '0', HOST: '127.0.0.1' } }
  mkdirSync(sessions.cwd)
  configure(sessions, {
    default: 'demo/scripted',
    providers: { demo: { kind: 'scripted', scenario: './scenario.yaml' } },
  })

  // The model after training on sessions rated good earlier.
  let server = await serveAnswers(sessions, { [QUESTION]: WRONG, [OTHER_QUESTION]: RIGHT })
  const first = await ratedUp(sessions, QUESTION)
  await ratedUp(sessions, OTHER_QUESTION)
  await run('cairn', ['export', '--all', '--format', 'sft', '--out', '../taught.jsonl'], sessions)
  await server.stop()
  await run('cairn-tune', ['model', 'new', 'base', '--shape', 'tiny'], here)
  await train(here, 'taught.jsonl', 'taught', {
    model: 'base',
    lora: 'false',
    'max-steps': '100',
    'learning-rate': '0.003',
  })

  // A better answer to the same question is rated up, and the first one down.
  server = await serveAnswers(sessions, { [QUESTION]: RIGHT })
  await ratedUp(sessions, QUESTION)
  await run('cairn', ['rate', first, 'down'], sessions)
  await run('cairn', ['export', '--all', '--format', 'dpo', '--out', '../pairs.jsonl'], sessions)
  await run('cairn', ['export', '--all', '--format', 'kto', '--out', '../rated.jsonl'], sessions)
  await server.stop()
  const lines = (name: string) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n')
  expect(lines('pairs.jsonl')).toHaveLength(1)
  const labels = lines('rated.jsonl').map(line => (JSON.parse(line) as { label: boolean }).label)
  expect(labels.toSorted()).toEqual([false, true, true])
  await train(here, 'pairs.jsonl', 'better', {
    model: 'taught/model',
    method: 'dpo',
    'max-steps': '30',
    'learning-rate': '0.0003',
    'lr-scheduler-type': 'constant',
  })
  const margins = lines('better/metrics.jsonl').map(
    line => (JSON.parse(line) as { rewards_margin: number }).rewards_margin,
  )
  expect(margins[0]).toBeCloseTo(0, 2)
  expect(margins.at(-1)).toBeGreaterThan(0.5)

  const served = await serve(
    'cairn-tune',
    [
      'taught/model',
      '--served-model-name',
      'taught',
      '--enable-lora',
      '--lora-modules',
      'better=better/adapter',
      '--port',
      '0',
      '--max-model-len',
      '1024',
      '--max-lora-rank',
      '64',
      '--threads',
      '2',
      '--kv-cache-memory',
      '64MiB',
    ],
    here,
  )
  configure(
    sessions,
    {
      default: 'ours/taught',
      providers: { ours: { kind: 'openai', base_url: `${served.url}/v1` } },
      catalog: { 'ours/taught': { context_window: 1024 }, 'ours/better': { context_window: 1024 } },
    },
    { assistant: AGENT, better: { ...AGENT, model: 'ours/better' } },
  )
  await serve('cairn', [], sessions)
  for (const [agent, answer] of [
    ['assistant', WRONG],
    ['better', RIGHT],
  ] as const) {
    const sent = await run('cairn', ['send', '--json', '--agent', agent, QUESTION], sessions)
    const { session_id } = JSON.parse(sent) as { session_id: string }
    expect(await run('cairn', ['export', session_id], sessions)).toContain(answer)
  }
})
