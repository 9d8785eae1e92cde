/**
 * The demonstration (contract T6, T8): a base that knows English problems and no Romanian, an adapter for
 * Romanian in each recipe, and the accuracy of each.
 *
 * Each adapter is trained, loaded into a running server, asked all questions fifty at a time, and unloaded.
 * Adapters of quantised recipes are scored on the base they were trained on and on the unquantised one.
 * Results are saved in the output directory, so the same call resumes after an interruption.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { configSchema, train, type StepMetrics } from '@cairn-tune/train'
import { RECIPE_TABLE } from '@cairn-tune/train/recipes'
import { makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import { evaluate, type EvalProgress } from '../eval/evaluate.ts'
import type { Score } from '../eval/gsm8k.ts'
import { adapterRows, testQuestions } from './data.ts'
import { readOrMeasure } from './measurement-file.ts'
import { withAdapter, type RunningServer, type StartServer } from './lora-server.ts'
import { OUTCOME_FILE, bothSchema, rowSchema, type DemoOutcome, type DemoRow } from './outcome.ts'
import { adapterTrainConfig, type DemoConfig, type DemoPlan } from './plan.ts'
import { prepareBase, writeRows } from './prepare-base.ts'

export type DemoOptions = {
  plan: DemoPlan
  configs: readonly DemoConfig[]
  seeds: readonly number[]
  outputDir: string
  /** Measures again even if the output directory has a result. */
  fresh: boolean
  cacheDir: string
  startServer: StartServer
  signal?: AbortSignal | undefined
  threads?: number | undefined
  onProgress?: ((progress: DemoProgress) => void) | undefined
}

/** `what` names the part that the numbers belong to. */
export type DemoProgress = { what: string } & ({ step: StepMetrics } | { answers: EvalProgress })

const QUESTIONS_SEED = 4
const LANGUAGES = { romanian: 'ro', english: 'en' } as const

export async function runDemo(options: DemoOptions): Promise<DemoOutcome> {
  const { plan, configs, seeds, outputDir, fresh, signal, threads, onProgress } = options
  await makeDirectory(outputDir, 'output_dir')
  const startedAt = new Date().toISOString()
  const base = await prepareBase({
    plan,
    cacheDir: options.cacheDir,
    signal,
    threads,
    onStep: step => onProgress?.({ what: 'base', step }),
  })
  const dataset = join(outputDir, 'romanian.jsonl')
  await writeRows(dataset, adapterRows({ problems: plan.adapter.problems, seed: plan.base.seed }))
  await using plainServer = closing(await options.startServer({ model: base, storage: 'bf16', threads }))
  const untrained = await readOrMeasure(
    {
      path: join(outputDir, 'eval', 'untrained.json'),
      madeOf: [base, plan.questions],
      schema: bothSchema,
      fresh,
    },
    () =>
      scoreBoth(options, {
        url: plainServer.url,
        model: base,
        what: 'untrained',
        directory: join(outputDir, 'eval'),
        on: 'bf16',
      }),
  )

  const rows: DemoRow[] = []
  for (const config of configs) {
    for (const seed of seeds) {
      const directory = join(outputDir, `${slugOf(config)}-seed-${seed}`)
      const label = seeds.length > 1 ? `${config.name}, seed ${seed}` : config.name
      rows.push(
        await readOrMeasure(
          { path: join(directory, 'row.json'), madeOf: [base, plan, config, seed], schema: rowSchema, fresh },
          () => measureRow(options, { base, dataset, config, seed, directory, label, plainServer }),
        ),
      )
    }
  }
  const outcome: DemoOutcome = {
    schema: 1,
    hardware: rows.at(-1)?.hardware ?? '',
    started_at: startedAt,
    plan,
    untrained,
    scored: rows.flatMap(({ scored }) => scored),
    losses: rows.map(({ loss }) => loss),
  }
  await writeTextAtomically(join(outputDir, OUTCOME_FILE), `${JSON.stringify(outcome, null, 1)}\n`)
  return outcome
}

type RowPlace = {
  base: string
  dataset: string
  config: DemoConfig
  seed: number
  directory: string
  label: string
  plainServer: RunningServer
}

/**
 * Trains an adapter and scores it on the base as its recipe stores it and, if that differs, on the
 * unquantised one.
 */
async function measureRow(
  options: DemoOptions,
  { base, dataset, config, seed, directory, label, plainServer }: RowPlace,
): Promise<DemoRow> {
  const { plan, signal, threads, onProgress } = options
  await rm(directory, { recursive: true, force: true })
  const run = await train(
    configSchema.parse(
      adapterTrainConfig(plan, config, seed, { model: base, dataset, outputDir: directory }),
    ),
    {
      ...(signal && { signal }),
      ...(threads !== undefined && { threads }),
      onStep: step => onProgress?.({ what: label, step }),
    },
  )
  signal?.throwIfAborted()
  const score = async (server: RunningServer, on: 'own' | 'bf16', kind: 'own' | 'bf16') => ({
    config: config.name,
    seed,
    base: kind,
    ...(await withAdapter(server.url, 'adapter', run.output, () =>
      scoreBoth(options, {
        url: server.url,
        model: 'adapter',
        what: `${label} on the ${on} base`,
        directory: join(directory, 'eval'),
        on,
      }),
    )),
  })
  const loss = {
    config: config.name,
    seed,
    points: run.metrics.map(({ step, loss }): [number, number] => [step, loss]),
    seconds: run.metrics.reduce((sum, { seconds }) => sum + seconds, 0),
  }
  const { storage } = RECIPE_TABLE[config.recipe]
  if (storage === 'bf16')
    return { hardware: run.hardware, loss, scored: [await score(plainServer, 'bf16', 'own')] }
  await using ownServer = closing(await options.startServer({ model: base, storage, threads }))
  return {
    hardware: run.hardware,
    loss,
    scored: [await score(ownServer, 'own', 'own'), await score(plainServer, 'bf16', 'bf16')],
  }
}

type Asked = {
  url: string
  model: string
  what: string
  directory: string
  /** Name of the base, for the files. */ on: string
}

/** Accuracy in both languages: what the adapter gains, and what it costs. */
async function scoreBoth(
  { plan, signal, onProgress }: DemoOptions,
  { url, model, what, directory, on }: Asked,
): Promise<{ romanian: Score; english: Score }> {
  const one = async (name: keyof typeof LANGUAGES) => {
    const questions = testQuestions({
      language: LANGUAGES[name],
      problems: plan.questions,
      seed: QUESTIONS_SEED,
    })
    const outputDir = join(directory, `${on}-${name}`)
    // Answers of an earlier demonstration belong to another adapter.
    await rm(outputDir, { recursive: true, force: true })
    const { scores } = await evaluate({
      url,
      model,
      questions,
      source: `generated, ${LANGUAGES[name]}`,
      outputDir,
      ...(signal && { signal }),
      onProgress: answers => onProgress?.({ what: `${what}, ${name}`, answers }),
    })
    return scores['strict-match']
  }
  return { romanian: await one('romanian'), english: await one('english') }
}

const slugOf = ({ recipe, matmul }: DemoConfig) => (matmul === undefined ? recipe : `${recipe}-${matmul}`)

const closing = (server: RunningServer) => ({ ...server, [Symbol.asyncDispose]: server.close })
