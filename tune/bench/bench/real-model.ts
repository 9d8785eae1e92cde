/**
 * What adapters do for a pretrained model: accuracy on Romanian problems and loss of their answers, before
 * and after LoRA in each recipe, each with its standard error.
 *
 *   node tune/bench/bench/real-model.ts MODEL OUTPUT [--recipes bf16,qbnb] [--problems N] [--questions N]
 *     [--steps N] [--row N] [--accumulation N] [--learning_rate X] [--threads N]
 *
 * Problems have one or two steps and numbers to 200; training asks as the gsm8k task does. Rows that OUTPUT
 * has already are not measured again.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CONFIGS, markdownOf, serveBase, type DemoConfig, type Score } from '@cairn-tune/bench'
import { withAdapter } from '@cairn-tune/bench/demo/lora-server'
import { configSchema, train } from '@cairn-tune/train'
import { RECIPE_TABLE } from '@cairn-tune/train/recipes'
import { loadTokenizer } from '@cairn-tune/weights'
import { drawProblems, measureAnswers, writeProblems, type Measured } from './generated-problems.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    recipes: { type: 'string' },
    problems: { type: 'string', default: '400' },
    questions: { type: 'string', default: '100' },
    steps: { type: 'string' },
    row: { type: 'string', default: '128' },
    accumulation: { type: 'string', default: '4' },
    learning_rate: { type: 'string', default: '2e-4' },
    threads: { type: 'string' },
  },
})
const [model, output] = positionals
if (!model || !output) throw new Error('usage: real-model.ts MODEL OUTPUT')
mkdirSync(output, { recursive: true })
const threads = values.threads === undefined ? {} : { threads: Number(values.threads) }

const KIND = { language: 'ro', minSteps: 1, maxSteps: 2 } as const
const dataset = join(output, 'train.jsonl')
const problems = drawProblems(KIND, 'train', Number(values.problems))
writeProblems(dataset, problems)
const questions = drawProblems(KIND, 'test', Number(values.questions))
const tokenizer = await loadTokenizer(model)

type Row = Measured & { config: string; seconds?: number; steps?: number; first?: number; last?: number }

const measure = (url: string, name: string, directory: string) =>
  measureAnswers({ url, name, directory, questions, tokenizer })

/** Saves each measured row. */
async function readOrMeasure(name: string, make: (directory: string) => Promise<Row>): Promise<Row> {
  const directory = join(output ?? '', name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
  const path = join(directory, 'row.json')
  if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')) as Row
  mkdirSync(directory, { recursive: true })
  const row = await make(directory)
  writeFileSync(path, `${JSON.stringify(row, null, 1)}\n`)
  console.error(`${name}: ${JSON.stringify(row)}`)
  return row
}

async function trainRow(config: DemoConfig, directory: string): Promise<Row> {
  const { name, ...recipe } = config
  const run = await train(
    configSchema.parse({
      model,
      dataset,
      ...recipe,
      output_dir: join(directory, 'run'),
      overwrite: true,
      per_device_train_batch_size: 2,
      gradient_accumulation_steps: Number(values.accumulation),
      learning_rate: Number(values.learning_rate),
      warmup_steps: 20,
      weight_decay: 0.001,
      lr_scheduler_type: 'linear',
      max_seq_length: Number(values.row),
      seed: 1,
      ...(values.steps === undefined ? { num_train_epochs: 1 } : { max_steps: Number(values.steps) }),
    }),
    {
      ...threads,
      onStep: ({ step, total_steps: total, loss }) => {
        if (step % 10 === 0 || step === total)
          console.error(`${name}: step ${step}/${total} loss ${loss.toFixed(4)}`)
      },
    },
  )
  const losses = run.metrics.map(({ loss }) => loss)
  const server = await serveBase({
    model: model ?? '',
    storage: RECIPE_TABLE[config.recipe].storage,
    ...threads,
  })
  try {
    return {
      config: name,
      ...(await withAdapter(server.url, 'adapter', run.output, () =>
        measure(server.url, 'adapter', join(directory, 'eval')),
      )),
      seconds: run.metrics.reduce((sum, { seconds }) => sum + seconds, 0),
      steps: losses.length,
      first: losses[0] ?? NaN,
      last: losses.at(-1) ?? NaN,
    }
  } finally {
    await server.close()
  }
}

const rows = [
  await readOrMeasure('untrained', async directory => {
    const server = await serveBase({ model, storage: 'bf16', ...threads })
    try {
      return { config: 'untrained', ...(await measure(server.url, model, join(directory, 'eval'))) }
    } finally {
      await server.close()
    }
  }),
]
const wanted = values.recipes?.split(',')
for (const config of CONFIGS)
  if (!wanted || wanted.includes(config.recipe))
    rows.push(await readOrMeasure(config.name, d => trainRow(config, d)))

const cell = ({ accuracy, stderr }: Score) => `${accuracy.toFixed(3)} ± ${stderr.toFixed(3)}`
console.log(
  markdownOf({
    title: `${questions.length} Romanian questions, ${problems.length} problems to train on`,
    notes: [],
    columns: ['Config', 'strict', 'flexible', 'loss a token of the answers', 'steps', 'first and last step'],
    rows: rows.map(({ config, strict, flexible, loss, lossError, steps, first, last }) => [
      config,
      cell(strict),
      cell(flexible),
      `${loss.toFixed(4)} ± ${lossError.toFixed(4)}`,
      steps === undefined ? '-' : String(steps),
      first === undefined || last === undefined ? '-' : `${first.toFixed(3)} → ${last.toFixed(3)}`,
    ]),
  }),
)
