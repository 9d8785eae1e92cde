/**
 * The loop goes on with ratings that disagree (docs/loop.md): an answer rated down and one rated up become a
 * pair, the pair changes the adapter, and the next session gives the answer that was rated up.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type Place, run, serve } from './program.ts'

const QUESTION = 'Where do we moor?'
const [WRONG, RIGHT] = ['Noted: berth 9.', 'Noted: berth 7.']

const configure = (place: Place, models: object) =>
  writeFileSync(
    join(place.cwd, 'cairn.yaml'),
    JSON.stringify({
      models,
      agents: { assistant: { system: 'You keep notes.', tools: [], temperature: 0 } },
    }),
  )

/** A session on the scripted model, which gives this answer; its id. */
async function answered(place: Place, text: string): Promise<string> {
  writeFileSync(join(place.cwd, 'scenario.yaml'), JSON.stringify({ rules: [{ answer: { text } }] }))
  const server = await serve('cairn', [], place)
  const sent = await run('cairn', ['send', '--json', QUESTION], place)
  await run('cairn', ['rate', (JSON.parse(sent) as { session_id: string }).session_id, 'up'], place)
  await server.stop()
  return (JSON.parse(sent) as { session_id: string }).session_id
}

/** Trains an adapter with settings that learn one answer by heart. */
const train = (place: Place, dataset: string, output: string, settings: Readonly<Record<string, string>>) =>
  run(
    'cairn-tune',
    [
      'train',
      ...Object.entries({
        model: 'base',
        dataset,
        'output-dir': output,
        'lora-rank': '64',
        'lora-alpha': '128',
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

test('a rating down and a rating up become a pair, and the next session gives the answer that was rated up', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'cairn-preferences-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 3 }))
  const here: Place = { cwd: directory }
  const sessions: Place = { cwd: join(directory, 'sessions'), env: { PORT: '0', HOST: '127.0.0.1' } }
  mkdirSync(sessions.cwd)
  configure(sessions, {
    default: 'demo/scripted',
    providers: { demo: { kind: 'scripted', scenario: './scenario.yaml' } },
  })

  // What the model was taught first, in a session that was rated good then.
  const first = await answered(sessions, WRONG)
  let server = await serve('cairn', [], sessions)
  await run('cairn', ['export', '--all', '--format', 'sft', '--out', '../taught.jsonl'], sessions)
  await server.stop()
  await run('cairn-tune', ['model', 'new', 'base', '--shape', 'tiny'], here)
  await train(here, 'taught.jsonl', 'old', { 'max-steps': '150', 'learning-rate': '0.003' })

  // A better answer to the same question is rated up, and the first one down.
  await answered(sessions, RIGHT)
  server = await serve('cairn', [], sessions)
  await run('cairn', ['rate', first, 'down'], sessions)
  await run('cairn', ['export', '--all', '--format', 'dpo', '--out', '../pairs.jsonl'], sessions)
  await run('cairn', ['export', '--all', '--format', 'kto', '--out', '../rated.jsonl'], sessions)
  await server.stop()
  const lines = (name: string) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n')
  expect(lines('pairs.jsonl')).toHaveLength(1)
  const labels = lines('rated.jsonl').map(line => (JSON.parse(line) as { label: boolean }).label)
  expect(labels.toSorted()).toEqual([false, true])
  await train(here, 'pairs.jsonl', 'new', {
    method: 'dpo',
    'init-adapter': 'old/adapter',
    'reference-adapter': 'old/adapter',
    'max-steps': '60',
    'learning-rate': '0.001',
    'lr-scheduler-type': 'constant',
  })
  const margins = lines('new/metrics.jsonl').map(
    line => (JSON.parse(line) as { rewards_margin: number }).rewards_margin,
  )
  expect(margins[0]).toBeCloseTo(0, 2)
  expect(margins.at(-1)).toBeGreaterThan(1)

  const served = await serve(
    'cairn-tune',
    [
      'base',
      '--enable-lora',
      '--lora-modules',
      'old=old/adapter',
      'new=new/adapter',
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
  for (const [adapter, answer] of [
    ['old', WRONG],
    ['new', RIGHT],
  ] as const) {
    configure(sessions, {
      default: `ours/${adapter}`,
      providers: { ours: { kind: 'openai', base_url: `${served.url}/v1` } },
      catalog: { [`ours/${adapter}`]: { context_window: 1024 } },
    })
    const next = await serve('cairn', [], sessions)
    const sent = JSON.parse(await run('cairn', ['send', '--json', QUESTION], sessions)) as {
      session_id: string
    }
    const log = await run('cairn', ['export', sent.session_id], sessions)
    expect(log).toContain(answer)
    await next.stop()
  }
})
