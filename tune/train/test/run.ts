/** A small run: a tiny random model and a file of texts, in a directory that goes with the test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAddon } from '@cairn-tune/native'
import {
  readConfig,
  train,
  writeNewModel,
  type TrainConfig,
  type TrainOptions,
  type TrainResult,
} from '@cairn-tune/train'

export type Bench = {
  directory: string
  model: string
  /** Texts as a data set; its path. */
  writeTexts: (name: string, texts: readonly string[]) => string
  config: (settings: Partial<Record<keyof TrainConfig, unknown>>) => TrainConfig
  run: (settings: Partial<Record<keyof TrainConfig, unknown>>, options?: TrainOptions) => Promise<TrainResult>
  remove: () => void
}

let count = 0

/**
 * Call at the top of a file: on a fresh clone the kernels are compiled first, which takes longer than hooks
 * may.
 */
export async function createBench(): Promise<Bench> {
  await loadAddon()
  const directory = mkdtempSync(join(tmpdir(), 'cairn-train-'))
  const model = join(directory, 'tiny')
  await writeNewModel(model, 'tiny', 1)
  const writeTexts: Bench['writeTexts'] = (name, texts) => {
    const path = join(directory, `${name}.jsonl`)
    writeFileSync(path, texts.map(text => `${JSON.stringify({ text })}\n`).join(''))
    return path
  }
  const config: Bench['config'] = settings => {
    const all = {
      model,
      // These tests compare bits of the processor; looking for a card would compile the part that finds it.
      device: 'cpu',
      output_dir: join(directory, `run-${count++}`),
      max_seq_length: 64,
      learning_rate: 1e-3,
      ...settings,
    }
    return readConfig({
      flags: Object.entries(all).flatMap(([key, value]) =>
        value === undefined ? [] : [`--${key}=${String(value)}`],
      ),
    })
  }
  return {
    directory,
    model,
    writeTexts,
    config,
    run: (settings, options) => train(config(settings), options),
    remove: () => rmSync(directory, { recursive: true }),
  }
}

/** Texts that become exactly so many tokens each: a byte is a token, and the end is one more. */
export const textsOf = (tokens: number, many: number): string[] =>
  Array.from({ length: many }, (_, i) =>
    `${i} is ${'abcdefghij'[i % 10]?.repeat(tokens)}`.slice(0, tokens - 1),
  )

export const losses = ({ metrics }: TrainResult): number[] => metrics.map(({ loss }) => loss)
