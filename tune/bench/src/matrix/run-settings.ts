/** Settings common to every run of a matrix, and which results on disk were measured with them. */
import type { StdioOptions } from 'node:child_process'
import { OWN_PROGRAM } from './tables.ts'
import { SAMPLES, type BenchmarkResult } from '../result.ts'

/** Values of the benchmark's flags with these names. Undefined keeps the benchmark's default. */
export type RunSettings = {
  samples?: number | undefined
  maxSteps?: number | undefined
  threads?: number | undefined
  /** Our program only, and so is the next one. */ memory?: string | undefined
  /** `disk` streams the base from there. */
  offload?: string | undefined
}

/** Child output goes to stderr: stdout is for the matrix's own table. */
export const ROWS_TO_STDERR: StdioOptions = ['ignore', 2, 2]

/** Flags for our benchmark script, or for the baseline's. */
export function flagsOf(
  { samples, maxSteps, threads, memory, offload }: RunSettings,
  program: 'own' | 'baseline',
): string[] {
  const flags = {
    '--samples': samples,
    '--max-steps': maxSteps,
    '--threads': threads,
    '--memory': program === 'own' ? memory : undefined,
    '--offload': program === 'own' ? offload : undefined,
  }
  return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))
}

/**
 * Whether a result was measured with these settings. A short run does not stand for a whole one, nor two
 * threads for one, nor several ranks for a single one.
 */
export function isMeasuredWith({ program, samples, config }: BenchmarkResult, wanted: RunSettings): boolean {
  const isSame = (key: string, value: unknown) => (config[key] ?? undefined) === value
  return (
    samples === (wanted.samples ?? SAMPLES) &&
    isSame('max_steps', wanted.maxSteps) &&
    isSame('threads', wanted.threads) &&
    (config['ranks'] ?? 1) === 1 &&
    (program !== OWN_PROGRAM ||
      (isSame('memory_limit', wanted.memory) && (config['offload'] ?? 'none') === (wanted.offload ?? 'none')))
  )
}
