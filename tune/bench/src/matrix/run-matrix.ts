/**
 * Models × recipes, each in its own process, so that peak memory is that run's own and a crash ends no other
 * run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Recipe } from '@cairn-tune/train/recipes'
import { RESULT_FILE, type BenchmarkResult } from '../result.ts'
import { readResult } from './read-results.ts'
import { ROWS_TO_STDERR, flagsOf, isMeasuredWith, type RunSettings } from './run-settings.ts'
import { folderAmong } from './tables.ts'

export type MatrixOptions = {
  models: readonly string[]
  recipes: readonly Recipe[]
  outputDir: string
  /** The benchmark script, followed by model, recipe and flags. */
  command: readonly string[]
  settings: RunSettings
  /** Also runs cells that have a result with these settings. */
  fresh: boolean
  signal?: AbortSignal
  onCell?: (cell: MatrixCell) => void
}

/** `failed` leaves its cell unmeasured; the other runs continue. */
export type MatrixCell = { model: string; recipe: Recipe } & (
  | { state: 'started' }
  | { state: 'kept' | 'done'; result: BenchmarkResult }
  | { state: 'failed'; message: string }
)

/**
 * Runs the missing cells one after the other, since concurrent runs would slow each other down. Results stay
 * on disk. Returns the number of runs that left none.
 */
export async function runMatrix(options: MatrixOptions): Promise<{ failed: number }> {
  const { models, recipes, outputDir, settings, fresh, onCell } = options
  let failed = 0
  for (const model of models) {
    for (const recipe of recipes) {
      const modelDir = join(outputDir, folderAmong(models, model))
      const path = join(modelDir, `benchmark_sft_${recipe}`, RESULT_FILE)
      const earlier = !fresh && (await isFile(path)) ? await readResult(path) : undefined
      if (earlier?.model === model && isMeasuredWith(earlier, settings)) {
        onCell?.({ model, recipe, state: 'kept', result: earlier })
        continue
      }
      options.signal?.throwIfAborted()
      onCell?.({ model, recipe, state: 'started' })
      const startedAt = Date.now()
      const exit = await runOne(model, recipe, modelDir, options)
      options.signal?.throwIfAborted()
      // Out of memory and unsupported have their own exit codes, and leave a result that records them.
      const isNew = await stat(path).then(
        ({ mtimeMs }) => mtimeMs >= startedAt - 1000,
        () => false,
      )
      if (!isNew) {
        failed++
        onCell?.({ model, recipe, state: 'failed', message: exit })
        continue
      }
      onCell?.({ model, recipe, state: 'done', result: await readResult(path) })
    }
  }
  return { failed }
}

const isFile = (path: string) =>
  stat(path).then(
    found => found.isFile(),
    () => false,
  )

async function runOne(
  model: string,
  recipe: Recipe,
  modelDir: string,
  { command, settings, signal }: MatrixOptions,
): Promise<string> {
  const [program, ...args] = command
  if (program === undefined) throw new Error('[runMatrix] no command')
  const child = spawn(program, [...args, model, recipe, ...flagsOf(settings, 'own')], {
    env: { ...process.env, OUTPUT_DIR: modelDir },
    stdio: ROWS_TO_STDERR,
  })
  // The child saves its state on SIGINT, as it does when it runs alone.
  const stop = () => child.kill('SIGINT')
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const [code, killedBy] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return killedBy === null ? `exited with code ${code ?? 'unknown'}` : `was killed by ${killedBy}`
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
