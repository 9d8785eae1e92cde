/** The baseline's cells: the PyTorch script, on the same problems and threads, one process a run. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateProblems } from '@cairn-tune/train'
import { InputError, makeDirectory, writeTextAtomically } from '@cairn-tune/weights'
import { RESULT_FILE } from '../result.ts'
import { readResult } from './read-results.ts'
import { ROWS_TO_STDERR, flagsOf, isMeasuredWith, type RunSettings } from './run-settings.ts'
import { folderAmong } from './tables.ts'

export type BaselineOptions = {
  /** A Python with torch, transformers and PEFT. */
  python: string
  script: string
  models: readonly string[]
  recipes: readonly string[]
  outputDir: string
  settings: RunSettings
  /** Also runs cells that have a result with these settings. */
  fresh: boolean
  signal?: AbortSignal
  onNote?: (line: string) => void
}

/** Recipes of the baseline. NF4 is the reference. */
export const BASELINES = ['nf4', 'bf16', 'fp32'] as const

/** Throws unless Python starts and has what the baseline imports. Called before the hours of other runs. */
export async function checkPython(python: string): Promise<void> {
  await promisify(execFile)(python, ['-c', 'import peft, torch, transformers']).catch(
    (cause: NodeJS.ErrnoException & { stderr?: string }) => {
      if (cause.code === 'ENOENT' || cause.code === 'EACCES')
        throw new InputError(
          `${python}: cannot start it; expected a Python with torch, transformers and peft`,
          { cause },
        )
      throw new InputError(
        `${python}: ${cause.stderr?.trim().split('\n').at(-1) || cause.message}; the baseline needs ` +
          'torch, transformers and peft (bitsandbytes for nf4)',
        { cause },
      )
    },
  )
}

/** Size of the training half that the benchmark generates. */
const PROBLEMS = 7473
const SEED = 42

/** Runs the missing cells. A cell that the script cannot run stays unmeasured and is reported. */
export async function runBaseline({
  python,
  script,
  models,
  recipes,
  outputDir,
  settings,
  fresh,
  signal,
  onNote,
}: BaselineOptions): Promise<void> {
  const dataset = join(outputDir, 'problems_ro.jsonl')
  await makeDirectory(outputDir, 'output_dir')
  await writeTextAtomically(
    dataset,
    generateProblems({ language: 'ro', split: 'train', seed: SEED, count: PROBLEMS })
      .map(({ question, answer }) => `${JSON.stringify({ question, answer })}\n`)
      .join(''),
  )
  for (const model of models) {
    for (const recipe of recipes) {
      signal?.throwIfAborted()
      const modelDir = join(outputDir, folderAmong(models, model))
      const path = join(modelDir, `baseline_pytorch_${recipe}`, RESULT_FILE)
      const earlier =
        !fresh &&
        (await stat(path).then(
          found => found.isFile(),
          () => false,
        ))
          ? await readResult(path)
          : undefined
      if (earlier?.model === model && isMeasuredWith(earlier, settings)) {
        onNote?.(`baseline ${recipe}, ${model}: kept the earlier result; --fresh measures it again`)
        continue
      }
      onNote?.(`baseline ${recipe}, ${model}`)
      const child = spawn(
        python,
        [script, model, recipe, '--dataset', dataset, ...flagsOf(settings, 'baseline')],
        { env: { ...process.env, OUTPUT_DIR: modelDir }, stdio: ROWS_TO_STDERR, ...(signal && { signal }) },
      )
      const [code] = (await once(child, 'exit')) as [number | null]
      if (code !== 0) onNote?.(`baseline ${recipe}, ${model}: exited with code ${code ?? 'unknown'}`)
    }
  }
}
