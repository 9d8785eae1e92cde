/**
 * The base of a demonstration: trained once and cached under the hash of its plan; an interrupted training
 * resumes.
 */
import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { configSchema, train, type StepMetrics } from '@cairn-tune/train'
import { makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import { adapterRows, baseRows, type TrainingRow } from './data.ts'
import { writeNewBase } from './new-base.ts'
import { baseTrainConfig, type DemoPlan } from './plan.ts'
import { trainTokenizer } from './train-tokenizer.ts'

export type PrepareOptions = {
  plan: DemoPlan
  cacheDir: string
  signal?: AbortSignal | undefined
  threads?: number | undefined
  onStep?: ((metrics: StepMetrics) => void) | undefined
}

export const writeRows = (path: string, rows: readonly TrainingRow[]) =>
  writeTextAtomically(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''))

/**
 * Returns the directory of the trained base. Throws the signal's reason when interrupted; the next call
 * resumes from the last checkpoint.
 */
export async function prepareBase({
  plan,
  cacheDir,
  signal,
  threads,
  onStep,
}: PrepareOptions): Promise<string> {
  const rows = baseRows(plan.base)
  const directory = join(cacheDir, `demo-base-${hashOf(plan, rows)}`)
  const model = join(directory, 'run', 'model')
  const finished = join(directory, 'finished')
  if (await exists(finished)) return model
  await makeDirectory(directory, 'output_dir')
  const [untrained, dataset] = [join(directory, 'untrained'), join(directory, 'train.jsonl')]
  if (!(await exists(join(untrained, 'config.json')))) {
    await rm(untrained, { recursive: true, force: true })
    // The corpus has both languages, so that Romanian words take as few tokens as English ones.
    const corpus = [...rows, ...adapterRows({ problems: VOCABULARY_PROBLEMS, seed: plan.base.seed })].map(
      ({ prompt, completion }) => prompt + completion,
    )
    await writeNewBase(untrained, plan.base, trainTokenizer(corpus, plan.base.vocabulary))
  }
  await writeRows(dataset, rows)
  const resume = await exists(join(directory, 'run', 'run.json'))
  const config = configSchema.parse({
    ...baseTrainConfig(plan, { model: untrained, dataset, outputDir: join(directory, 'run') }),
    resume,
  })
  const { status } = await train(config, {
    ...(signal && { signal }),
    ...(threads !== undefined && { threads }),
    ...(onStep && { onStep }),
  })
  signal?.throwIfAborted()
  if (status !== 'finished') throw new Error(`[prepareBase] training stopped early with status ${status}`)
  await writeTextAtomically(finished, `${new Date().toISOString()}\n`)
  return model
}

/** Problems whose words the tokenizer learns. */
const VOCABULARY_PROBLEMS = 3000

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Includes the rows, because a change of the problem generator needs a new base. */
const hashOf = (plan: DemoPlan, rows: readonly TrainingRow[]) =>
  createHash('sha256')
    .update(
      JSON.stringify([plan.base, baseTrainConfig(plan, { model: '', dataset: '', outputDir: '' }), rows]),
    )
    .digest('hex')
    .slice(0, 12)
