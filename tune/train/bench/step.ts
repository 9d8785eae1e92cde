/**
 * One LoRA micro-step of each recipe compared with bf16's, alternately in one process: tokens per second,
 * useful arithmetic relative to the register peak, which is measured around each step, and the share of each
 * op. By the wall clock, and by the threads' processor time, which is nearly the same on a shared machine;
 * figures are the best of the repeats. Arguments: threads (1), tokens (2048), repeats (4), layers (4),
 * recipes (all), instruction set (the fastest).
 */
import { createEngine, type Engine } from '@cairn-tune/native'
import type { OpName } from '@cairn-tune/ops'
import { RECIPES, type Recipe } from '@cairn-tune/train'
import { prepareLoraStep, type LoraStep } from './lora-step.ts'

type Best = {
  wall: number
  processor: number
  ofPeak: number
  ofPeakByProcessor: number
  ops: Map<OpName, number>
  /** The maximum share of the peak reached by an op whose arithmetic is counted separately. */
  opsOfPeak: Map<OpName, number>
  loss: number
}

const nothing = (): Best => ({
  wall: Infinity,
  processor: Infinity,
  ofPeak: 0,
  ofPeakByProcessor: 0,
  ops: new Map(),
  opsOfPeak: new Map(),
  loss: NaN,
})

async function measure(engine: Engine, step: LoraStep, best: Best): Promise<void> {
  const before = engine.peakFlops('bf16')
  const used = process.cpuUsage()
  const start = performance.now()
  const { seconds, loss } = await step.run()
  const wall = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(used)
  const processor = (user + system) / 1e6 / engine.threads
  const peak = (engine.threads * (before + engine.peakFlops('bf16'))) / 2
  best.wall = Math.min(best.wall, wall)
  best.processor = Math.min(best.processor, processor)
  best.ofPeak = Math.max(best.ofPeak, step.flops / wall / peak)
  best.ofPeakByProcessor = Math.max(best.ofPeakByProcessor, step.flops / processor / peak)
  for (const [op, time] of seconds) {
    best.ops.set(op, Math.min(best.ops.get(op) ?? Infinity, time))
    const share = (step.ofOps[op] ?? 0) / time / peak
    if (share > 0) best.opsOfPeak.set(op, Math.max(best.opsOfPeak.get(op) ?? 0, share))
  }
  best.loss = loss
}

const [threads = 1, tokens = 2048, repeats = 4, layers = 4] = process.argv.slice(2, 6).map(Number)
const recipes = RECIPES.filter(recipe => (process.argv[6] ?? RECIPES.join(',')).split(',').includes(recipe))

const isa = process.argv[7]
using engine = await createEngine({ threads, ...(isa && { isa }), log: line => console.log(line) })
const mebibytes = (bytes: number) => (bytes / 2 ** 20).toFixed(0)
const bf16 = await prepareLoraStep(engine, { recipe: 'bf16', tokens, layers })
const results = new Map<Recipe, Best>()
console.log(
  `\nA LoRA step: ${engine.isa}, ${threads} thread${threads === 1 ? '' : 's'}, ${tokens} tokens, ` +
    `${layers} layers, best of ${repeats}; the second of two figures is over processor time`,
)
console.log(
  '| recipe | weights, arena (MiB) | tokens/s | of peak | speed beside bf16 | loss ' +
    '|\n|---|---|---|---|---|---|',
)
for (const recipe of recipes) {
  const step = recipe === 'bf16' ? bf16 : await prepareLoraStep(engine, { recipe, tokens, layers })
  const [own, beside] = [nothing(), nothing()]
  await step.run() // The first step allocates memory.
  for (let i = 0; i < repeats; i++) {
    await measure(engine, bf16, beside)
    await measure(engine, step, own)
  }
  results.set(recipe, own)
  const two = (a: number, b: number) => `${a.toFixed(2)}, ${b.toFixed(2)}`
  const rate = (seconds: number) => (tokens / seconds).toFixed(0)
  const memory = `${mebibytes(step.weightBytes)}, ${mebibytes(step.arenaBytes)}`
  const speed = two(beside.wall / own.wall, beside.processor / own.processor)
  console.log(
    `| ${recipe} | ${memory} | ${rate(own.wall)}, ${rate(own.processor)} | ` +
      `${two(own.ofPeak, own.ofPeakByProcessor)} | ${speed} | ${own.loss.toFixed(3)} |`,
  )
}

// Each op's minimum time, so that a single interruption does not count.
const total = ({ ops }: Best) => [...ops.values()].reduce((a, b) => a + b, 0)
const ops = new Set(
  [...results.values()].flatMap(best => [...best.ops].toSorted((a, b) => b[1] - a[1]).map(([op]) => op)),
)
console.log(
  `\nShare of each op in a step's time, ${threads} thread${threads === 1 ? '' : 's'}, %\n| op | ` +
    `${recipes.join(' | ')} |\n|---|${recipes.map(() => '---|').join('')}`,
)
for (const op of ops)
  console.log(
    `| ${op} | ${[...results.values()]
      .map(best => {
        const share = ((100 * (best.ops.get(op) ?? 0)) / total(best)).toFixed(1)
        const ofPeak = best.opsOfPeak.get(op)
        return ofPeak === undefined ? share : `${share} (${ofPeak.toFixed(2)} of peak)`
      })
      .join(' | ')} |`,
  )
console.log(`\nscratch ${mebibytes(engine.scratchBytes())} MiB`)
