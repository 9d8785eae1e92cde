/** Models × recipes, each in a process of its own, so that peak memory is that run's and a run that dies takes no other with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Recipe } from '@cairn-tune/train/recipes'
import { RESULT_FILE, type BenchmarkResult } from '../result.ts'
import { readResult } from './read-results.ts'
import { shortName } from './tables.ts'

export type MatrixOptions = {
  models: readonly string[]
  recipes: readonly Recipe[]
  outputDir: string
  /** The benchmark script and what it is given after model and recipe, such as `--max-steps 5`. */
  command: readonly string[]
  flags: readonly string[]
  /** Runs whose result is there already are not repeated. */
  fresh: boolean
  signal?: AbortSignal
  onCell?: (cell: MatrixCell) => void
}

/** `failed` leaves its cell unmeasured; the other runs go on. */
export type MatrixCell = { model: string; recipe: Recipe } & ({ state: 'started' } | { state: 'kept' | 'done'; result: BenchmarkResult } | { state: 'failed'; message: string })

/** Runs what is missing, one after the other: two at once would measure each other. */
export async function runMatrix(options: MatrixOptions): Promise<BenchmarkResult[]> {
  const { models, recipes, outputDir, fresh, onCell } = options
  const results: BenchmarkResult[] = []
  for (const model of models) {
    for (const recipe of recipes) {
      const modelDir = join(outputDir, shortName(model))
      const path = join(modelDir, `benchmark_sft_${recipe}`, RESULT_FILE)
      if (!fresh && (await isFile(path))) {
        const result = await readResult(path)
        results.push(result)
        onCell?.({ model, recipe, state: 'kept', result })
        continue
      }
      options.signal?.throwIfAborted()
      onCell?.({ model, recipe, state: 'started' })
      const startedAt = Date.now()
      const exit = await runOne(model, recipe, modelDir, options)
      options.signal?.throwIfAborted()
      // Out of memory and unsupported end with an exit code of their own, and with a result that says so.
      const isNew = await stat(path).then(({ mtimeMs }) => mtimeMs >= startedAt - 1000, () => false)
      if (!isNew) {
        onCell?.({ model, recipe, state: 'failed', message: exit })
        continue
      }
      const result = await readResult(path)
      results.push(result)
      onCell?.({ model, recipe, state: 'done', result })
    }
  }
  return results
}

const isFile = (path: string) => stat(path).then(found => found.isFile(), () => false)

async function runOne(model: string, recipe: Recipe, modelDir: string, { command, flags, signal }: MatrixOptions): Promise<string> {
  const [program, ...args] = command
  if (program === undefined) throw new Error('[runMatrix] no command')
  const child = spawn(program, [...args, model, recipe, ...flags], { env: { ...process.env, OUTPUT_DIR: modelDir }, stdio: ['ignore', 'inherit', 'inherit'] })
  // The child saves what it has on SIGINT, as it does when it runs alone.
  const stop = () => child.kill('SIGINT')
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return killedBy === null ? `ended with exit code ${code ?? 'unknown'}` : `was killed by ${killedBy}`
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
