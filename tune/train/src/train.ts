/** Training runs (contract T4): in this process, on several ranks of this machine, or under MPI. */
import { joinMpi } from '@cairn-tune/native'
import { InputError, UnsupportedError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import type { TrainOptions, TrainResult } from './metrics.ts'
import { createRankGroup } from './ranks/group.ts'
import { trainOnRanks } from './ranks/run-ranks.ts'
import { trainRank } from './train-rank.ts'

/**
 * Trains and writes all files of the run to `output_dir`. An abort between or within steps saves a checkpoint
 * of the last complete step and ends the run as `interrupted`; before the first step it rejects with the
 * signal's reason.
 */
export async function train(config: TrainConfig, options: TrainOptions = {}): Promise<TrainResult> {
  if (config.rank_transport === 'mpi') return await trainWithMpi(config, options)
  return config.ranks === 1 ? await trainRank(config, options) : await trainOnRanks(config, options)
}

/** Trains as one of the ranks that MPI's launcher started. Only rank 0 reports steps and notes. */
async function trainWithMpi(config: TrainConfig, options: TrainOptions): Promise<TrainResult> {
  const collectives = await joinMpi().catch((cause: unknown) => {
    throw new UnsupportedError(cause instanceof Error ? cause.message : String(cause), { cause })
  })
  const { rank, ranks } = collectives
  const { onNote = () => undefined, onStep, ...rest } = options
  try {
    if (config.ranks !== 1 && config.ranks !== ranks)
      throw new InputError(`ranks: ${config.ranks}, but MPI started ${ranks}; leave ranks out`)
    const result = await trainRank(
      { ...config, ranks },
      rank === 0 ? options : rest,
      createRankGroup(collectives),
    )
    await collectives.leave()
    return result
  } catch (error) {
    if (ranks > 1) {
      // The launcher ends this process as well, so the reason must be written first.
      onNote(`rank ${rank} of ${ranks} failed: ${error instanceof Error ? error.message : String(error)}`)
      collectives.abort()
    }
    throw error
  }
}
