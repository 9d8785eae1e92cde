/** Messages between the process that starts ranks and those ranks. */
import { InputError, UnsupportedError } from '@cairn-tune/weights'
import type { TrainConfig } from '../config.ts'
import { DivergedError, OutOfMemoryError, RanksError } from '../errors.ts'
import type { StepMetrics, TrainResult } from '../metrics.ts'

export type ToRank =
  | { kind: 'start'; config: TrainConfig; rank: number; threads: number | undefined }
  /** Save a checkpoint and stop. */
  | { kind: 'stop'; reason: string }
  /** Another rank is lost: stop waiting for it. */
  | { kind: 'end'; reason: string }

export type FromRank =
  | { kind: 'alive' }
  | { kind: 'note'; line: string }
  | { kind: 'step'; metrics: StepMetrics }
  | { kind: 'finished'; result: TrainResult | undefined }
  | { kind: 'failed'; failure: RankFailure }

/** An error of a rank. Errors of these classes determine the exit code of the whole run. */
export type RankFailure = {
  name: string
  message: string
  stack: string | undefined
  neededBytes?: number | undefined
  budgetBytes?: number | undefined
}

export function failureOf(error: unknown): RankFailure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error), stack: undefined }
  const { name, message, stack } = error
  if (error instanceof OutOfMemoryError)
    return { name, message, stack, neededBytes: error.neededBytes, budgetBytes: error.budgetBytes }
  return { name, message, stack }
}

/** An error of the class that the rank's error had, so that it leads to the same exit code. */
export function errorOf({ name, neededBytes = 0, budgetBytes = 0 }: RankFailure, message: string): Error {
  switch (name) {
    case 'InputError':
      return new InputError(message)
    case 'UnsupportedError':
      return new UnsupportedError(message)
    case 'OutOfMemoryError':
      return new OutOfMemoryError(message, neededBytes, budgetBytes)
    case 'DivergedError':
      return new DivergedError(message)
    default:
      return new RanksError(message)
  }
}
