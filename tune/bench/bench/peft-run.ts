/**
 * The same LoRA run by Cairn Tune and by PEFT on a pretrained model: the loss of every step, and accuracy
 * before and after, with standard errors.
 *
 *   node tune/bench/bench/peft-run.ts MODEL OUTPUT --python PYTHON [--problems N] [--questions N]
 *     [--steps N] [--batch N] [--row N] [--learning_rate X] [--threads N] [--peft_dtype bf16|f32]
 *
 * PYTHON has torch, transformers and peft. PEFT gets the decoded weights in bf16, our initial adapter, and
 * the documents of our steps in order, so that only the arithmetic differs. On processors without bf16
 * instructions, PyTorch is usable only with --peft_dtype f32. Problems are English, have one or two steps and
 * numbers to 200. Parts that OUTPUT has already are not repeated.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { markdownOf, serveBase } from '@cairn-tune/bench'
import { withAdapter } from '@cairn-tune/bench/demo/lora-server'
import { partsOf, readModelConfig } from '@cairn-tune/models'
import {
  START,
  configSchema,
  createBatches,
  initAdapter,
  loadDataset,
  lossChart,
  readMetrics,
  tokenizeExamples,
  train,
} from '@cairn-tune/train'
import { copyCompanions } from '@cairn-tune/train/merge'
import {
  decodeFloats,
  encodeFloats,
  linearsOf,
  loadTokenizer,
  openCheckpoint,
  writeAdapter,
  writeCheckpoint,
} from '@cairn-tune/weights'
import { drawProblems, measureAnswers, writeProblems, type Measured } from './generated-problems.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    python: { type: 'string' },
    problems: { type: 'string', default: '2000' },
    questions: { type: 'string', default: '500' },
    steps: { type: 'string', default: '200' },
    batch: { type: 'string', default: '1' },
    row: { type: 'string', default: '192' },
    peft_dtype: { type: 'string', default: 'bf16' },
    learning_rate: { type: 'string', default: '1e-3' },
    threads: { type: 'string', default: '2' },
  },
})
const [model, output] = positionals
if (!model || !output || values.python === undefined)
  throw new Error('usage: peft-run.ts MODEL OUTPUT --python PYTHON')
const at = (name: string) => join(output, name)
mkdirSync(output, { recursive: true })
const threads = Number(values.threads)
const KIND = { language: 'en', minSteps: 1, maxSteps: 2 } as const
const dataset = at('train.jsonl')
writeProblems(dataset, drawProblems(KIND, 'train', Number(values.problems)))

const config = configSchema.parse({
  model,
  dataset,
  output_dir: at('cairn'),
  overwrite: true,
  max_seq_length: Number(values.row),
  too_long: 'error',
  per_device_train_batch_size: Number(values.batch),
  gradient_accumulation_steps: 1,
  max_steps: Number(values.steps),
  learning_rate: Number(values.learning_rate),
  warmup_steps: 20,
  device: 'cpu',
  threads,
})
const tokenizer = await loadTokenizer(model)

/** The base as a directory in bf16, as the run stores it. */
async function writeBase(): Promise<void> {
  mkdirSync(at('base'), { recursive: true })
  const checkpoint = await openCheckpoint(model ?? '')
  await writeCheckpoint(
    at('base'),
    [...checkpoint.tensors.values()].map(({ name, dtype, shape }) => ({
      name,
      dtype: 'BF16',
      shape,
      bytes: async () => {
        if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') throw new Error(`${name} is ${dtype}`)
        return encodeFloats('BF16', decodeFloats(dtype, await checkpoint.read(name)))
      },
    })),
  )
  await copyCompanions(model ?? '', at('base'))
  await checkpoint.close()
}

/** The initial values of the run's adapter. */
async function writeInitialAdapter(): Promise<void> {
  const { projections, modules } = partsOf(await readModelConfig(model ?? ''))
  const matrices = projections.flatMap(projection =>
    linearsOf(projection).flatMap(name => [
      { name: `${name}.lora_A.weight`, shape: [config.lora_rank, projection.inputs] as const },
      { name: `${name}.lora_B.weight`, shape: [projection.outputs, config.lora_rank] as const },
    ]),
  )
  const keys = { baseModel: 'base', lora_target_modules: [...modules] }
  await writeAdapter(at('initial'), { ...config, ...keys }, initAdapter(config.seed, matrices))
}

/** The documents of each step with their targets, without padding. */
async function writeBatches(): Promise<number[]> {
  const { examples } = await loadDataset(dataset, { env: process.env, seed: config.seed })
  const { documents } = tokenizeExamples(examples, tokenizer, {
    maxSeqLength: config.max_seq_length,
    trainOn: config.train_on,
    tooLong: config.too_long,
  })
  const { batchAt } = createBatches(documents, {
    maxSeqLength: config.max_seq_length,
    batchSize: config.per_device_train_batch_size,
    packing: config.packing,
    seed: config.seed,
    padTokenId: tokenizer.padTokenId ?? tokenizer.eosTokenId ?? 0,
  })
  const lines: string[] = []
  const counts: number[] = []
  let position = START
  for (let step = 0; step < (config.max_steps ?? 0); step++) {
    const { batch, next } = batchAt(position)
    const { tokens, targets, cuSeqlens, isReal } = batch
    const parts = [...cuSeqlens].slice(0, -1).flatMap((start, i) => {
      const range = [start, cuSeqlens[i + 1]] as const
      const isPadding = isReal[start] === 0
      return isPadding
        ? []
        : { tokens: [...tokens.subarray(...range)], targets: [...targets.subarray(...range)] }
    })
    lines.push(`${JSON.stringify(parts)}\n`)
    counts.push(batch.trainedTokens)
    position = next
  }
  writeFileSync(at('batches.jsonl'), lines.join(''))
  return counts
}

/** Runs a part unless its last file is there. */
async function once(file: string, make: () => Promise<void> | void): Promise<void> {
  if (!existsSync(at(file))) await make()
}

await once('base/config.json', writeBase)
await once('initial/adapter_config.json', writeInitialAdapter)
const counts = await writeBatches()
writeFileSync(at('settings.json'), JSON.stringify({ ...config, peft_dtype: values.peft_dtype }))
await once('cairn/adapter/adapter_config.json', async () => {
  await train(config, {
    onStep: ({ step, loss, seconds }) => {
      if (step % 10 === 0)
        console.error(`Cairn: step ${step} loss ${loss.toFixed(4)}, ${seconds.toFixed(1)} s`)
    },
  })
})
const ours = await readMetrics(at('cairn'))
if (ours.some(({ trained_tokens: trained }, i) => trained !== counts[i]))
  throw new Error('the run trained other micro-batches than those written for PEFT')
await once('peft/adapter_config.json', () => {
  const program = new URL('peft_run.py', import.meta.url).pathname
  execFileSync(values.python ?? '', [program, output], { stdio: 'inherit' })
})
type Step = { loss: number; seconds: number }
const theirs = readFileSync(at('peft/metrics.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line) as Step)

const questions = drawProblems(KIND, 'test', Number(values.questions))
const server = await serveBase({ model, storage: 'bf16', threads })
const measure = async (folder: string, name: string): Promise<Measured> => {
  const directory = at(folder)
  await once(`${folder}/measured.json`, async () => {
    mkdirSync(directory, { recursive: true })
    const asked = { url: server.url, name, questions, tokenizer, directory }
    writeFileSync(join(directory, 'measured.json'), JSON.stringify(await measureAnswers(asked)))
  })
  return JSON.parse(readFileSync(join(directory, 'measured.json'), 'utf8')) as Measured
}
const adapted = (name: string, path: string) =>
  withAdapter(server.url, name, path, () => measure(`eval-${name}`, name))
const rows: [string, Measured][] = [
  ['untrained', await measure('eval-untrained', model)],
  ['Cairn Tune', await adapted('cairn', at('cairn/adapter'))],
  ['PEFT', await adapted('peft', at('peft'))],
]
await server.close()

writeFileSync(
  at('loss.svg'),
  lossChart(
    [
      { name: 'Cairn Tune', points: ours.map(({ step, loss }) => [step, loss]) },
      { name: 'PEFT', points: theirs.map(({ loss }, i) => [i + 1, loss]) },
    ],
    { title: 'Training loss of the same run', smooth: 1 },
  ),
)
const number = (value: number, error: number, digits: number) =>
  `${value.toFixed(digits)} ± ${error.toFixed(digits)}`
console.log(
  markdownOf({
    title: `${questions.length} questions`,
    notes: [],
    columns: ['', 'strict', 'flexible', 'loss of the tokens of an answer'],
    rows: rows.map(([name, { strict, flexible, loss, lossError }]) => [
      name,
      number(strict.accuracy, strict.stderr, 3),
      number(flexible.accuracy, flexible.stderr, 3),
      number(loss, lossError, 4),
    ]),
  }),
)
const tens = ours.filter(({ step }) => step === 1 || step % 10 === 0)
console.log(
  markdownOf({
    title: 'Loss',
    notes: [],
    columns: ['step', 'Cairn Tune', 'PEFT'],
    rows: tens.map(({ step, loss }) => [
      String(step),
      loss.toFixed(4),
      (theirs[step - 1]?.loss ?? NaN).toFixed(4),
    ]),
  }),
)
const differences = ours.map(({ loss }, i) => Math.abs(loss - (theirs[i]?.loss ?? NaN)))
const meanOf = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
console.log(
  `difference of a step's loss: mean ${meanOf(differences).toFixed(4)}, ` +
    `largest ${Math.max(...differences).toFixed(4)}; seconds per step: ` +
    `${meanOf(ours.map(({ seconds }) => seconds)).toFixed(2)} and ` +
    `${meanOf(theirs.map(({ seconds }) => seconds)).toFixed(2)}`,
)
