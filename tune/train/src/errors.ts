/** Errors for outcomes of a run that are neither the caller's fault nor a bug. */

/** The run does not fit in memory, found before it starts (contract T4; exit code 3, the cell `OOM`). */
export class OutOfMemoryError extends Error {
  override name = 'OutOfMemoryError'
  readonly neededBytes: number
  readonly budgetBytes: number

  constructor(message: string, neededBytes: number, budgetBytes: number) {
    super(message)
    this.neededBytes = neededBytes
    this.budgetBytes = budgetBytes
  }
}

/** Several ranks did not all finish. The message has the reason of each. */
export class RanksError extends Error {
  override name = 'RanksError'
}

/** The loss or norm is not finite. The weights are those of the last complete step. */
export class DivergedError extends Error {
  override name = 'DivergedError'
}

/** The error of a step whose loss or gradient is not finite. */
export const diverged = (what: string, value: number, step: number, learningRate: number) =>
  new DivergedError(
    `step ${step}: the ${what} is ${value}, so the step was skipped (learning rate ` +
      `${learningRate.toPrecision(3)}) and the run stopped. ` +
      'Lower learning_rate, raise warmup_steps, or check the data; --resume continues from the last ' +
      'checkpoint. If the first step fails, the base weights contain non-finite numbers.',
  )
