/** Outcomes of a run that are neither the caller's fault nor a bug. */

/** It does not fit: known before anything ran (contract T4; exit code 3, the cell `OOM`). */
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

/** The numbers left the finite: the weights are those of the last whole step. */
export class DivergedError extends Error {
  override name = 'DivergedError'
}
