/**
 * The demonstration end to end, with a model too small to learn anything: it trains, serves, queries and
 * stores results.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  CONFIGS,
  QUICK,
  readOutcome,
  runDemo,
  serveBase,
  type DemoOptions,
  type DemoPlan,
  type DemoProgress,
  type StartServer,
} from '../src/index.ts'

const plan: DemoPlan = {
  base: { ...QUICK.base, vocabulary: 400, layers: 1, problems: 40, statements: 10, sums: 10, steps: 3 },
  adapter: { ...QUICK.adapter, problems: 20 },
  questions: 3,
}
const configs = CONFIGS.filter(({ recipe }) => recipe === 'bf16' || recipe === 'qbnb')

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cairn-demo-'))
})
afterAll(() => rm(directory, { recursive: true }))

/** The real server, recording the bases that it was started with. */
function recording(): { startServer: StartServer; started: string[]; closed: () => number } {
  const started: string[] = []
  let closed = 0
  return {
    started,
    closed: () => closed,
    startServer: async options => {
      started.push(options.storage)
      const { url, close } = await serveBase(options)
      return {
        url,
        close: async () => {
          await close()
          closed++
        },
      }
    },
  }
}

const run = async (more: Partial<DemoOptions> & Pick<DemoOptions, 'startServer'>) => {
  const progress: DemoProgress[] = []
  const outcome = await runDemo({
    plan,
    configs,
    seeds: [1],
    fresh: false,
    outputDir: join(directory, 'out'),
    cacheDir: join(directory, 'cache'),
    threads: 1,
    onProgress: one => progress.push(one),
    ...more,
  })
  return {
    outcome,
    parts: new Set(progress.map(({ what }) => what)),
    steps: (what: string) => progress.filter(one => one.what === what && 'step' in one).length,
  }
}

/**
 * Promise T8.1: Each adapter of the accuracy table is loaded, queried and unloaded, quantised recipes on both
 * bases.
 */
test('trains, loads, queries in both languages and unloads each adapter on one shared base', async () => {
  const first = recording()
  const { outcome, steps } = await run({ startServer: first.startServer })
  expect(outcome.scored.map(({ config, base }) => `${config} on ${base}`)).toEqual([
    'BF16 on own',
    'QBnB on own',
    'QBnB on bf16',
  ])
  expect(outcome.scored.every(({ romanian, english }) => romanian.total === 3 && english.total === 3)).toBe(
    true,
  )
  expect(first.started).toEqual(['bf16', 'nf4'])
  expect(first.closed()).toBe(2)
  expect(steps('base')).toBe(3)
  expect(outcome.losses.map(({ config, points }) => [config, points.length])).toEqual([
    ['BF16', 2],
    ['QBnB', 2],
  ])
  expect(await readOutcome(join(directory, 'out', 'accuracy.json'))).toEqual(outcome)
  const audit = await readFile(
    join(directory, 'out', 'qbnb-seed-1', 'eval', 'bf16-romanian', 'samples_gsm8k.jsonl'),
    'utf8',
  )
  expect(audit.trim().split('\n')).toHaveLength(4)

  const second = await run({
    startServer: recording().startServer,
    configs: configs.slice(0, 1),
    fresh: true,
  })
  expect(second.steps('base')).toBe(0)
  expect(second.steps('BF16')).toBe(2)
  expect(second.outcome.scored).toEqual(outcome.scored.slice(0, 1))
})

test('an interrupted table resumes and measures only the missing row', async () => {
  const outputDir = join(directory, 'kept')
  const { outcome } = await run({
    startServer: recording().startServer,
    outputDir,
    configs: configs.slice(0, 1),
  })
  const { outcome: whole, parts } = await run({ startServer: recording().startServer, outputDir })
  expect(parts).toEqual(
    new Set([
      'QBnB',
      'QBnB on the own base, romanian',
      'QBnB on the own base, english',
      'QBnB on the bf16 base, romanian',
      'QBnB on the bf16 base, english',
    ]),
  )
  expect(whole.scored.slice(0, 1)).toEqual(outcome.scored)
  const other = await run({
    startServer: recording().startServer,
    outputDir,
    configs: configs.slice(0, 1),
    plan: { ...plan, questions: 4 },
  })
  expect(other.outcome.scored[0]?.romanian.total).toBe(4)
})

test('resumes the interrupted training of a base', async () => {
  const stop = new AbortController()
  const cacheDir = join(directory, 'interrupted')
  const stopping = run({
    startServer: recording().startServer,
    cacheDir,
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('stopped')),
  })
  await expect(stopping).rejects.toThrow('stopped')
  const { steps } = await run({ startServer: recording().startServer, cacheDir, configs: [] })
  expect(steps('base')).toBe(2)
})
