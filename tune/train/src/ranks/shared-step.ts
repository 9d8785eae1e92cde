/**
 * A step on several ranks. In each round every rank computes a micro-batch, and their gradients are added in
 * the order in which a single rank would add them. Then all ranks have the sums, and each makes the same
 * update.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { floatsOf } from '@cairn-tune/ops'
import type { RewardSums } from '../rewards.ts'
import { sumsOf, type RankGroup } from './group.ts'

/** A rank was asked to stop, so no rank completes the step. */
export class StoppedError extends Error {
  override name = 'StoppedError'
}

/** Sums of a window over its micro-batches. */
export type WindowSums = {
  loss: number
  counted: number
  realTokens: number
  trainedTokens: number
  slots: number
  rewards: RewardSums | undefined
}

type SharedStep = {
  engine: Engine
  group: RankGroup
  signal: AbortSignal | undefined
  /** This rank's sums, which become those of all ranks. */
  sums: WindowSums
  rounds: number
  /** Gradients of this rank's micro-batch of a round. Those of the first become the sums of all ranks. */
  gradientsOf: (round: number) => readonly DeviceBuffer[]
  /** Magnitudes of activations, whose first number becomes the largest of all ranks. */
  histories: readonly DeviceBuffer[]
  /** The norm of the previous step, which must be equal on all ranks. */
  previousNorm: number
}

/**
 * Runs this rank's micro-batches, and adds those of all ranks. Rejects on every rank with StoppedError,
 * without a change of the state, if the signal of any rank was aborted.
 */
export async function addRanks(step: SharedStep, computeNext: () => Promise<unknown>): Promise<void> {
  const { engine, group, signal, sums, rounds, gradientsOf, histories, previousNorm } = step
  for (let round = 0; round < rounds; round++) {
    await exchangeUnlessStopped(group, signal, computeNext)
    const gradients = gradientsOf(round)
    await group.addRound(engine, gradients, round === 0)
    // A rank without a micro-batch in the next round adds zeros.
    for (const gradient of gradients) engine.clear(gradient)
  }
  const norms = (await group.gather([previousNorm])).map(([norm]) => norm)
  if (norms.some(norm => norm !== norms[0]))
    throw new Error(
      `the ranks no longer have the same weights: their gradient norms were ${norms.join(', ')}; ` +
        'all ranks must run on the same kind of processor or card',
    )
  setNumbers(sums, sumsOf(await group.gather(numbersOf(sums))))
  await group.takeSums(engine, gradientsOf(0))
  if (histories.length === 0) return
  const own = await Promise.all(histories.map(async one => floatsOf(await engine.read(one, 0, 4))[0] ?? NaN))
  const all = await group.gather(own)
  for (const [i, history] of histories.entries())
    engine.write(history, Float32Array.of(Math.max(...all.map(values => values[i] ?? NaN))))
}

/** Runs a rank's part. Rejects with StoppedError on all ranks if the signal of one was aborted by then. */
export async function exchangeUnlessStopped(
  group: RankGroup,
  signal: AbortSignal | undefined,
  computePart: () => Promise<unknown>,
): Promise<void> {
  try {
    await computePart()
  } catch (error) {
    // The others must learn of it, so that they stop after the same step.
    if (!signal?.aborted) throw error
  }
  const stopped = (await group.gather([signal?.aborted ? 1 : 0])).findIndex(([flag]) => flag === 1)
  if (stopped >= 0) throw new StoppedError(`rank ${stopped} was asked to stop`, { cause: signal?.reason })
}

function numbersOf({ loss, counted, realTokens, trainedTokens, slots, rewards }: WindowSums): number[] {
  const numbers = [loss, counted, realTokens, trainedTokens, slots]
  if (!rewards) return numbers
  const { chosen, rejected, ordered, baseline } = rewards
  const sides = [chosen, rejected].flatMap(({ answers, reward, logps }) => [answers, reward, logps])
  return [...numbers, ...sides, ordered, baseline.count, baseline.sum]
}

function setNumbers(sums: WindowSums, numbers: readonly number[]): void {
  const next = numbers.values()
  const take = () => next.next().value ?? NaN
  for (const key of ['loss', 'counted', 'realTokens', 'trainedTokens', 'slots'] as const) sums[key] = take()
  if (!sums.rewards) return
  for (const side of [sums.rewards.chosen, sums.rewards.rejected])
    for (const key of ['answers', 'reward', 'logps'] as const) side[key] = take()
  sums.rewards.ordered = take()
  for (const key of ['count', 'sum'] as const) sums.rewards.baseline[key] = take()
}
