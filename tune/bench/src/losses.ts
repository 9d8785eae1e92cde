/**
 * Training losses of the recipes side by side: the same model, data, order and steps, so that only the
 * arithmetic differs.
 */
import { join } from 'node:path'
import { configSchema, lossChart, train, type StepMetrics, type TrainConfig } from '@cairn-tune/train'
import type { DemoOutcome } from './demo/outcome.ts'
import { CONFIGS, type DemoConfig } from './demo/plan.ts'
import type { Table } from './matrix/tables.ts'

export type LossRun = { config: string; losses: readonly number[] }

/** How far a recipe's final loss may exceed bf16's. */
const LOSS_LIMITS: Record<DemoConfig['recipe'], number> = {
  bf16: 0,
  fp8: 0.01,
  fp4: 0.05,
  qfp8: 0.05,
  qfp4: 0.05,
  qbnb: 0.05,
}

export type LossOptions = {
  settings: Partial<TrainConfig>
  outputDir: string
  signal?: AbortSignal
  threads?: number
  onStep?: (config: string, metrics: StepMetrics) => void
}

export async function trainLosses({
  settings,
  outputDir,
  signal,
  threads,
  onStep,
}: LossOptions): Promise<LossRun[]> {
  const runs: LossRun[] = []
  for (const { name, ...recipe } of CONFIGS) {
    const config = configSchema.parse({
      ...settings,
      ...recipe,
      output_dir: join(outputDir, name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')),
      overwrite: true,
    })
    const { metrics } = await train(config, {
      ...(signal && { signal }),
      ...(threads !== undefined && { threads }),
      onStep: step => onStep?.(name, step),
    })
    signal?.throwIfAborted()
    runs.push({ config: name, losses: metrics.map(({ loss }) => loss) })
  }
  return runs
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The mean of the last tenth of the steps, because the loss of a single step depends on its batch as much as
 * on the recipe.
 */
export const finalLoss = (losses: readonly number[]) => mean(losses.slice(-Math.ceil(losses.length / 10)))

/** A demonstration's losses, the mean of its seeds at each step. */
export const lossesOf = ({ losses }: Pick<DemoOutcome, 'losses'>): LossRun[] =>
  [...Map.groupBy(losses, ({ config }) => config)].map(([config, runs]) => ({
    config,
    losses: (runs[0]?.points ?? []).map((_, i) => mean(runs.flatMap(({ points }) => points[i]?.[1] ?? []))),
  }))

/** Each run's first and final loss, and the difference of the final one from bf16's. */
export function lossTable(runs: readonly LossRun[]): Table {
  const reference = runs.find(({ config }) => config === 'BF16')
  if (!reference) throw new Error('[lossTable] no BF16 run to compare with')
  const rows = runs.map(({ config, losses }) => {
    const recipe = CONFIGS.find(({ name }) => name === config)?.recipe ?? 'bf16'
    const difference = finalLoss(losses) / finalLoss(reference.losses) - 1
    const isReference = config === reference.config
    return [
      config,
      losses[0]?.toFixed(4) ?? '-',
      finalLoss(losses).toFixed(4),
      isReference ? '-' : `${difference >= 0 ? '+' : ''}${(100 * difference).toFixed(2)} %`,
      isReference ? '-' : `${100 * LOSS_LIMITS[recipe]} %`,
      isReference ? '-' : difference <= LOSS_LIMITS[recipe] ? 'yes' : 'no',
    ]
  })
  return {
    title: 'Loss after the same steps on the same data',
    columns: ['Config', 'first step', 'end', 'against BF16', 'limit', 'within'],
    rows,
    notes: [`${reference.losses.length} steps; "end" is the mean of their last tenth.`],
  }
}

/** One chart of all runs, and one per run. */
export function lossCharts(runs: readonly LossRun[]): { name: string; svg: string }[] {
  const points = (losses: readonly number[]) => losses.map((loss, i) => [i + 1, loss] as const)
  const one = ({ config, losses }: LossRun) => ({
    name: config.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'),
    svg: lossChart([{ name: config, points: points(losses) }], { title: `Training loss, ${config}` }),
  })
  return [
    {
      name: 'all',
      svg: lossChart(
        runs.map(({ config, losses }) => ({ name: config, points: points(losses) })),
        { title: 'Training loss of every recipe' },
      ),
    },
    ...runs.map(one),
  ]
}
