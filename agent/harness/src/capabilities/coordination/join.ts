/**
 * The result of a call that waited for its workers, from the log alone, so that any runner writes the same.
 */
import { cutAt } from '@cairn/protocol'
import type { Wait } from '@cairn/state'

/** Maximum characters of all results, divided equally; read_worker_result returns the rest. */
const RESULTS_CHARS = 40_000

export function joined({ ids, settled }: Wait): Record<string, unknown> {
  const share = Math.floor(RESULTS_CHARS / Math.max(1, ids.length))
  const workers = ids.map(worker_id => {
    const outcome = settled.find(each => each.worker_id === worker_id)
    if (outcome === undefined) return { worker_id, status: 'unknown' }
    const files = outcome.files_written.length > 0 ? { files_written: [...outcome.files_written] } : {}
    if (outcome.status === 'failed')
      return {
        worker_id,
        status: 'failed',
        cause: outcome.cause,
        error: outcome.error,
        ...(outcome.partial_result === undefined ? {} : { partial_result: outcome.partial_result }),
        ...files,
      }
    const result = cutAt(outcome.result, share)
    return {
      worker_id,
      status: 'complete',
      result,
      ...(outcome.truncated === true || result !== outcome.result ? { truncated: true } : {}),
      ...files,
    }
  })
  return { workers }
}

/** Measured to the end of the last worker, so that every runner writes the same duration. */
export const elapsedOf = ({ at, settled }: Wait, now: number): number =>
  Math.max(
    1,
    Math.max(...settled.map(each => Date.parse(each.at)), settled.length > 0 ? 0 : now) - Date.parse(at),
  )
