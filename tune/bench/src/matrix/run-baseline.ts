/** The baseline's cells: the PyTorch script, on the same problems and threads, one process a run. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { generateProblems } from '@cairn-tune/train'
import { writeTextAtomically } from '@cairn-tune/weights'
import type { BenchmarkResult } from '../result.ts'
import { readResults } from './read-results.ts'
import { shortName } from './tables.ts'

export type BaselineOptions = {
  /** A Python with torch, transformers and PEFT. */
  python: string
  script: string
  models: readonly string[]
  recipes: readonly string[]
  outputDir: string
  /** As ours, such as `--max-steps 5`. */
  flags: readonly string[]
  signal?: AbortSignal
  onNote?: (line: string) => void
}

/** What the baseline runs, NF4 being the reference. */
export const BASELINES = ['nf4', 'bf16', 'fp32'] as const

/** As many as the training half that the benchmark generates. */
const PROBLEMS = 7473
const SEED = 42

export async function runBaseline({ python, script, models, recipes, outputDir, flags, signal, onNote }: BaselineOptions): Promise<BenchmarkResult[]> {
  const dataset = join(outputDir, 'problems_ro.jsonl')
  await mkdir(outputDir, { recursive: true })
  await writeTextAtomically(dataset, generateProblems({ language: 'ro', split: 'train', seed: SEED, count: PROBLEMS }).map(({ question, answer }) => `${JSON.stringify({ question, answer })}\n`).join(''))
  for (const model of models) {
    for (const recipe of recipes) {
      signal?.throwIfAborted()
      onNote?.(`baseline ${recipe}, ${model}`)
      const child = spawn(python, [script, model, recipe, '--dataset', dataset, ...flags], { env: { ...process.env, OUTPUT_DIR: join(outputDir, shortName(model)) }, stdio: ['ignore', 'inherit', 'inherit'], ...(signal && { signal }) })
      const [code] = (await once(child, 'exit')) as [number | null]
      if (code !== 0) onNote?.(`baseline ${recipe}, ${model}: ended with exit code ${code ?? 'unknown'}`)
    }
  }
  return (await readResults(outputDir)).filter(({ program }) => program === 'pytorch-peft')
}
