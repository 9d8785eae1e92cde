/** What distinguishes a rank from the only rank of a run: its device, its threads and its micro-batches. */
import { availableParallelism, hostname } from 'node:os'
import { listCards } from '@cairn-tune/native'
import { InputError } from '@cairn-tune/weights'
import type { CheckpointState } from '../checkpoint.ts'
import type { TrainConfig } from '../config.ts'
import { roundsOf, type RankGroup, type Share } from './group.ts'

type OwnConfig = {
  config: TrainConfig
  share: Share
  /** Threads, unless the configuration names a number. */
  threads: number | undefined
}

/**
 * The configuration of a rank. A run that resumes on another number of ranks keeps the micro-batches of its
 * steps, and divides them again.
 */
export async function configOfRank(
  config: TrainConfig,
  group: RankGroup | undefined,
  found: CheckpointState | undefined,
): Promise<OwnConfig> {
  const { rank, ranks } = group ?? { rank: 0, ranks: 1 }
  if (config.expert_parallel > 1 && config.expert_parallel !== ranks)
    throw new InputError(`expert_parallel ${config.expert_parallel}: ${ranks} ranks run; set it to ${ranks}`)
  const total = microBatches(config, ranks, found)
  const share = { total, rank, ranks }
  const own = { ...config, gradient_accumulation_steps: roundsOf(share) }
  if (!group) return { config: own, share, threads: undefined }
  const place = await placeOf(group)
  return {
    config: { ...own, device: await deviceOf(config.device, place) },
    share,
    threads: Math.max(1, Math.floor(availableParallelism() / place.count)),
  }
}

/** Micro-batches of a step on all ranks. */
function microBatches(
  { gradient_accumulation_steps: accumulation, output_dir: directory }: TrainConfig,
  ranks: number,
  found: CheckpointState | undefined,
): number {
  if (!found || found.ranks === ranks) return accumulation * ranks
  const total = Number(found.settings['gradient_accumulation_steps'])
  if (total < ranks)
    throw new InputError(
      `ranks: the steps of the checkpoint in ${directory} have ${total} micro-batches, too few for ` +
        `${ranks} ranks; use at most ${total}`,
    )
  return total
}

/** Reports a step that was divided again. */
export function noteOfShare(
  { ranks, gradient_accumulation_steps: perRank }: TrainConfig,
  { total }: Share,
  found: CheckpointState | undefined,
): string[] {
  if (!found || found.ranks === ranks) return []
  return [
    `the checkpoint is of ${found.ranks} ${found.ranks === 1 ? 'rank' : 'ranks'}: ` +
      `its steps of ${total} micro-batches continue on ${ranks === 1 ? '1 rank' : `${ranks} ranks`}, ` +
      `at most ${perRank} each`,
  ]
}

/** The ranks in run.json. */
export const recordOfRanks = (
  { ranks, transport }: RankGroup,
  { expert_parallel: experts }: TrainConfig,
): Record<string, unknown> => ({
  count: ranks,
  transport,
  parallel: experts > 1 ? 'expert' : 'data',
})

/** A rank among those of its machine. */
type Place = { index: number; count: number }

const NAME_BYTES = 64

/** Ranks of one machine have the same host name. */
async function placeOf(group: RankGroup): Promise<Place> {
  const name = [...new TextEncoder().encode(hostname())].slice(0, NAME_BYTES)
  const names = await group.gather(Array.from({ length: NAME_BYTES }, (_, i) => name[i] ?? 0))
  const own = names[group.rank]?.join()
  const here = names.flatMap((other, rank) => (other.join() === own ? [rank] : []))
  return { index: here.indexOf(group.rank), count: here.length }
}

/** Each rank has a card of its own, or all of a machine compute on the processor. */
async function deviceOf(device: string, { index, count }: Place): Promise<string> {
  if (device === 'cpu' || count === 1) return device
  if (device === 'cuda') return `cuda:${index}`
  if (device !== 'auto')
    throw new InputError(`device ${device}: ${count} ranks need a card each; use device cuda, or cpu`)
  const cards = await listCards().catch(() => [])
  return cards.filter(({ isEmulated }) => !isEmulated).length >= count ? `cuda:${index}` : 'cpu'
}
