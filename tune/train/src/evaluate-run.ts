/**
 * Evaluations between steps: the loss on documents that are not trained on, the best so far, and early
 * stopping. Earlier evaluations are read from eval.jsonl, so a resumed run decides like one that never
 * stopped.
 */
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withPath, writeTextAtomically } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { Evaluation } from './metrics.ts'

const EVALUATIONS = 'eval.jsonl'

export type Evaluator = {
  readonly all: readonly Evaluation[]
  readonly best: Evaluation | undefined
  /** Whether the last evaluations have not improved for the configured patience. */
  isOver(): boolean
  /** Whether an evaluation is due after this step. */
  isDue(step: number, totalSteps: number): boolean
  evaluate(step: number): Promise<Evaluation>
}

export type EvaluatorOptions = {
  config: TrainConfig
  /** Returns the loss, and the number of its tokens. */
  measure: () => Promise<{ loss: number; tokens: number }>
  /** Saves the present state as the best so far. All ranks call it. */
  saveBest: () => Promise<void>
  /** Steps after this one are repeated. */
  lastStep: number
  /** Whether this rank writes the files of the run. */
  isWriter: boolean
}

/** Reads a run's evaluations. A killed run may have left half a line. */
async function readEvaluations(path: string): Promise<Evaluation[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Evaluation)
}

export async function createEvaluator({
  config,
  measure,
  saveBest,
  lastStep,
  isWriter,
}: EvaluatorOptions): Promise<Evaluator> {
  const path = join(config.output_dir, EVALUATIONS)
  const all = (await readEvaluations(path)).filter(({ step }) => step <= lastStep)
  if (isWriter) await writeTextAtomically(path, all.map(one => `${JSON.stringify(one)}\n`).join(''))
  const best = () => all.filter(({ is_best: isBest }) => isBest).at(-1)
  const { early_stopping_patience: patience, eval_steps: every } = config
  return {
    all,
    get best() {
      return best()
    },
    isOver() {
      const found = best()
      return patience > 0 && found !== undefined && all.length - 1 - all.indexOf(found) >= patience
    },
    isDue: (step, totalSteps) => step === totalSteps || (every > 0 && step % every === 0),
    async evaluate(step) {
      const started = performance.now()
      const { loss, tokens } = await measure()
      const seconds = (performance.now() - started) / 1000
      const isBest = loss < (best()?.loss ?? Infinity)
      const evaluation: Evaluation = { step, loss, tokens, seconds, is_best: isBest }
      if (isBest) await saveBest()
      all.push(evaluation)
      if (!isWriter) return evaluation
      await appendFile(path, `${JSON.stringify(evaluation)}\n`).catch((error: unknown) => {
        throw withPath(path, error)
      })
      return evaluation
    },
  }
}
