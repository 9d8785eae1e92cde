import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  CONFIGS,
  FULL,
  QUICK,
  countParameters,
  demoReport,
  demoTables,
  lossCharts,
  lossesOf,
  markdownOf,
  runDemo,
  serveBase,
  type DemoConfig,
  type DemoProgress,
} from '@cairn-tune/bench'
import { makeDirectory } from '@cairn-tune/weights'
import { defineCommand, wholeNumber } from '../command.ts'
import { showAnswers } from '../answers-progress.ts'
import { EXIT, UsageError } from '../exit.ts'
import { showProgress } from '../progress.ts'

const NAMES = [...new Set(CONFIGS.map(({ recipe }) => recipe))]

export const demo = defineCommand({
  name: 'demo',
  summary: 'Make the accuracy table: train a small base and an adapter in each recipe, then evaluate them',
  usage: [
    [
      'demo',
      'train a base on English problems (kept for later runs), then an adapter on Romanian problems in ' +
        'each recipe; write report.html, accuracy.json, accuracy.md and loss-*.svg',
    ],
    ['  --recipes a,b', `of ${NAMES.join(', ')}; default: all`],
    ['  --seeds 1,2,3', 'one run per seed; default: 1'],
    ['  --fresh', 'measure again what the output directory already contains'],
    ['  --quick', 'run every part in a minute or two, without meaningful results'],
    [
      '  --learning_rate X',
      `learning rate of the adapters; default: ${FULL.adapter.learningRate} (why: docs/tune/accuracy.md)`,
    ],
    ['  --output_dir DIR --threads N', 'default: ./output/demo'],
  ],
  options: {
    recipes: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    learning_rate: { type: 'string' },
    output_dir: { type: 'string', default: './output/demo' },
    threads: { type: 'string' },
  },
  async run({ values, positionals }, io) {
    if (positionals.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`)
    const standard = values.quick ? QUICK : FULL
    const plan =
      values.learning_rate === undefined
        ? standard
        : { ...standard, adapter: { ...standard.adapter, learningRate: readRate(values.learning_rate) } }
    const seeds = values.seeds.split(',').flatMap(text => wholeNumber('seeds', text.trim()) ?? [])
    io.note(
      `base: ${(countParameters(plan.base) / 1e6).toFixed(1)} million parameters; ` +
        `${plan.questions} questions in each language`,
    )
    const steps = showProgress(io, { json: false })
    const answers = showAnswers(io)
    let last: string | undefined
    const onProgress = (progress: DemoProgress) => {
      if (progress.what !== last) {
        steps.end()
        answers.end()
        io.note(progress.what)
        last = progress.what
      }
      if ('step' in progress) steps.step(progress.step)
      else answers.answers(progress.answers)
    }
    try {
      const outcome = await runDemo({
        plan,
        configs: readConfigs(values.recipes),
        seeds,
        outputDir: values.output_dir,
        fresh: values.fresh,
        cacheDir: join(io.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn-tune'),
        startServer: serveBase,
        signal: io.signal,
        threads: wholeNumber('threads', values.threads, 1),
        onProgress,
      })
      await makeDirectory(values.output_dir, 'output_dir')
      const markdown = demoTables(outcome).map(markdownOf).join('\n')
      await writeFile(join(values.output_dir, 'report.html'), demoReport(outcome))
      await writeFile(join(values.output_dir, 'accuracy.md'), markdown)
      for (const { name, svg } of lossCharts(lossesOf(outcome)))
        await writeFile(join(values.output_dir, `loss-${name}.svg`), svg)
      io.out(values.json ? `${JSON.stringify(outcome)}\n` : markdown)
      io.note(join(values.output_dir, 'report.html'))
      return EXIT.ok.code
    } finally {
      steps.end()
      answers.end()
    }
  },
})

function readConfigs(text: string | undefined): readonly DemoConfig[] {
  if (text === undefined) return CONFIGS
  return text.split(',').flatMap(name => {
    const found = CONFIGS.filter(({ recipe }) => recipe === name.trim())
    if (found.length === 0)
      throw new UsageError(`unknown recipe ${JSON.stringify(name)}; known: ${NAMES.join(', ')}`)
    return found
  })
}

function readRate(text: string): number {
  const rate = Number(text)
  if (!(rate > 0))
    throw new UsageError(`--learning_rate must be a number above 0, got ${JSON.stringify(text)}`)
  return rate
}
