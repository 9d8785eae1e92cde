/** The training loop: steps, metrics and checkpoints. */
import { inCheckpointOrder, writeCheckpointState, type CheckpointState } from './checkpoint.ts'
import type { TrainConfig } from './config.ts'
import { DivergedError } from './errors.ts'
import type { Evaluator } from './evaluate-run.ts'
import { readWhole } from './experts/expert-share.ts'
import type { Batch, BatchSource, DataPosition } from './data/batches.ts'
import type { StepMetrics, TrainOptions, TrainResult } from './metrics.ts'
import type { PreparedRun } from './prepare-run.ts'
import type { RankGroup, Share } from './ranks/group.ts'
import { StoppedError } from './ranks/shared-step.ts'
import { stateTensors, type StateTensor } from './record-update.ts'
import { rewardMetrics } from './rewards.ts'
import { appendMetrics } from './run-files.ts'
import { learningRateAt, warmupSteps } from './schedule.ts'
import { readState, type Stepper } from './stepper.ts'
import { openEventFile } from './tensorboard.ts'

export type StepLoopOptions = {
  config: TrainConfig
  run: PreparedRun
  stepper: Stepper
  totalSteps: number
  from: { step: number; position: DataPosition }
  identity: Omit<CheckpointState, 'step' | 'position'>
  /** Undefined if the run has no evaluation. */
  evaluator: Evaluator | undefined
  /** This rank's share of a step. */
  share: Share
  /** Whether this rank writes the files of the run. */
  isWriter: boolean
  group: RankGroup | undefined
  options: TrainOptions
}

export type StepLoopResult = { status: TrainResult['status']; step: number; metrics: StepMetrics[] }

/** Runs the remaining steps, and writes metrics and checkpoints. */
export async function runSteps({
  config,
  run,
  stepper,
  totalSteps,
  from,
  identity,
  evaluator,
  share,
  isWriter,
  group,
  options: { signal, onStep, onNote },
}: StepLoopOptions): Promise<StepLoopResult> {
  const { save_steps: saveEvery, output_dir: directory } = config
  const metrics: StepMetrics[] = []
  let { step, position } = from
  let saved = from.step
  const tensors = stateTensors(run.planned.micro, config)
  const read = (tensor: StateTensor) =>
    readWhole(group, tensor, name => readState(run.engine, stepper.state, name))
  const save = async () => {
    if (saved === step) return
    if (isWriter)
      await writeCheckpointState(
        directory,
        { step, position, ...identity },
        read,
        tensors,
        config.save_total_limit,
      )
    // The others give rank 0 the parts of their experts.
    else for (const tensor of inCheckpointOrder(tensors.filter(({ slice }) => slice))) await read(tensor)
    saved = step
  }
  const events =
    isWriter && config.report_to === 'tensorboard' ? await openEventFile(directory, from.step) : undefined
  const evaluate = async (one: Evaluator) => {
    const { loss, tokens, is_best: isBest } = await one.evaluate(step)
    onNote?.(
      `step ${step}: evaluation loss ${loss.toFixed(4)} over ${tokens} tokens` +
        `${isBest ? ', the best so far' : ''}`,
    )
    await events?.write(step, { 'eval/loss': loss })
  }
  // An evaluation is missing if the earlier process ended before it was complete.
  const isOpen = evaluator?.isDue(from.step, totalSteps) && evaluator.all.at(-1)?.step !== from.step
  if (evaluator && from.step > 0 && isOpen) await evaluate(evaluator)
  while (step < totalSteps && !evaluator?.isOver()) {
    const started = performance.now()
    const window = createWindow(run.batches, position, share)
    const learningRate = learningRateAt(step, {
      ...config,
      warmup_steps: warmupSteps(config, totalSteps),
      totalSteps,
    })
    try {
      // Several ranks stop together, within a step.
      if (config.ranks === 1) signal?.throwIfAborted()
      await run.batches.prepare?.(position, share.total)
      const { loss, gradNorm, slots, realTokens, trainedTokens, rewards } = await stepper.step(
        window.batches(),
        {
          number: step + 1,
          learningRate,
          signal,
        },
      )
      position = window.end()
      step++
      const seconds = (performance.now() - started) / 1000
      const done: StepMetrics = {
        step,
        total_steps: totalSteps,
        epoch: position.epoch + position.row / run.batches.rowsPerEpoch,
        loss,
        grad_norm: gradNorm,
        learning_rate: learningRate,
        seconds,
        slots,
        real_tokens: realTokens,
        trained_tokens: trainedTokens,
        tokens_per_second: slots / seconds,
        rss_bytes: process.memoryUsage.rss(),
        ...rewardMetrics(rewards),
      }
      metrics.push(done)
      if (isWriter) await appendMetrics(directory, done)
      await events?.write(step, {
        'train/loss': loss,
        'train/grad_norm': gradNorm,
        'train/learning_rate': learningRate,
        'train/epoch': done.epoch,
        'train/tokens_per_second': done.tokens_per_second,
        ...Object.fromEntries(
          Object.entries(rewardMetrics(rewards)).map(([key, value]) => [`train/${key}`, value]),
        ),
      })
      onStep?.(done)
      if (evaluator?.isDue(step, totalSteps)) await evaluate(evaluator)
    } catch (error) {
      const isStopped = signal?.aborted === true || error instanceof StoppedError
      // An aborted or diverged step changed nothing, so this saves the last complete one. Without all ranks,
      // the experts of some are missing.
      if (config.expert_parallel === 1 || error instanceof StoppedError || error instanceof DivergedError)
        await save()
      if (isStopped && step > 0) return { status: 'interrupted', step, metrics }
      throw error
    }
    if (saveEvery > 0 && step % saveEvery === 0) await save()
  }
  await save()
  return { status: 'finished', step, metrics }
}

/** A rank's micro-batches of a step, created one at a time, and the position after those of all ranks. */
function createWindow(
  source: BatchSource,
  start: DataPosition,
  { total, rank, ranks }: Share,
): { batches: () => Generator<Batch>; end: () => DataPosition } {
  let position = start
  let at = 0
  const skipTo = (count: number) => {
    for (; at < count; at++) position = source.after(position)
    return position
  }
  return {
    *batches() {
      for (let own = rank; own < total; own += ranks) {
        const { batch, next } = source.batchAt(skipTo(own))
        position = next
        at++
        yield batch
      }
    },
    end: () => skipTo(total),
  }
}
