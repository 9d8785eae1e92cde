/**
 * Counts of a card's kernels and steps, without a card (`npm run dev -- counts:cuda`). Arguments: shapes,
 * recipes (bf16), rows of logits: prints launches, bytes and the modelled time of LoRA micro-steps. With
 * `--check` it compares all counts with the committed ones and fails if one rose; `--update` writes them.
 */
import { readFileSync } from 'node:fs'
import { checkCounts, readCounts, updateCounts } from '@cairn-tune/program/bench/kernel-counts'
import { RECIPES, SHAPES, type ShapeName } from '@cairn-tune/train'
import { STEP_SHAPES, countStep, createCountingEngine, stepCounts, type Counts } from './count-launches.ts'
import { GROUPS, sumWork } from './model-step.ts'

const options = process.argv.slice(2).filter(word => word.startsWith('--'))
const [shapes = STEP_SHAPES.join(), recipes = 'bf16', logitRows] = process.argv
  .slice(2)
  .filter(word => !word.startsWith('--'))
const isShape = (name: string): name is ShapeName => name in SHAPES
const log = (line: string) => console.log(line)
using engine = await createCountingEngine()

const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2)
const millions = (count: number) => (count / 1e6).toFixed(0)
const text = ({ launches, bytes }: Counts) => `${launches} launches, ${gigabytes(bytes)} GB`

const steps = () => Object.fromEntries(STEP_SHAPES.map(shape => [shape, stepCounts(engine, shape)]))
if (options.includes('--check')) process.exitCode = (await checkCounts(steps(), log)) ? 0 : 1
else if (options.includes('--update')) process.exitCode = (await updateCounts(steps(), log)) ? 0 : 1
else printSteps()

function printSteps(): void {
  log(engine.isa)
  for (const shape of shapes.split(',').filter(isShape)) {
    for (const recipe of RECIPES.filter(one => recipes.split(',').includes(one))) {
      const { micro, norm, update } = countStep(engine, shape, {
        recipe,
        ...(logitRows === undefined ? {} : { logitRows: Number(logitRows) }),
      })
      log(`${shape} ${recipe}: micro-step ${text(micro)}; norm ${text(norm)}; update ${text(update)}`)
      log(`  activations ${gigabytes(micro.arenaBytes)} GB, scratch ${gigabytes(micro.scratchBytes)} GB`)
      const kernels = Object.entries(micro.kernels).toSorted((a, b) => b[1] - a[1])
      log(`  ${kernels.map(([name, count]) => `${name} ${count}`).join(', ')}`)
      printModel(shape, recipe, micro)
    }
  }
}

/** The modelled time by group, beside the committed one and the newest measurement. */
function printModel(shape: ShapeName, recipe: string, { work }: Counts): void {
  const milliseconds = (seconds: number) => (seconds * 1e3).toFixed(1)
  const all = sumWork(work)
  const parts = GROUPS.map(group => `${group} ${milliseconds(work[group].seconds)}`)
  const was = recipe === 'bf16' ? readCounts().steps[shape] : undefined
  const before = was
    ? `; committed: ${was['launches']} launches, ${millions(was['products'] ?? NaN)} million, ` +
      `${((was['model_microseconds'] ?? NaN) / 1e3).toFixed(1)} ms`
    : ''
  const measured = measuredMilliseconds(shape, recipe)
  log(
    `  ${millions(all.products)} million tensor-core products of 16×8×16, with those that fill tiles${before}`,
  )
  log(
    `  model, not measured: ${milliseconds(all.seconds)} ms: ${parts.join(', ')}` +
      (measured === undefined ? '' : `; on an H100 before later changes: ${measured.toFixed(0)} ms`),
  )
}

type Measured = { what: string; model?: string; thousand_tokens_per_second?: Record<string, number> }

function measuredMilliseconds(shape: string, recipe: string): number | undefined {
  const path = new URL('../../../docs/data/benchmarks/tune-cuda.json', import.meta.url)
  const { rows } = JSON.parse(readFileSync(path, 'utf8')) as { rows: Measured[] }
  const row = rows.find(({ what, model }) => what === 'micro-step' && model === shape)
  const rate = row?.thousand_tokens_per_second?.[recipe]
  return rate === undefined ? undefined : 4096 / rate
}
