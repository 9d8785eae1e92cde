/**
 * Loss of every recipe after the same steps on the same data: a table and charts.
 *
 *   node tune/bench/bench/losses.ts <model directory> <data set> <output directory> [steps] [threads]
 * [learning rate]
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lossCharts, lossTable, markdownOf, trainLosses } from '@cairn-tune/bench'

const [model, dataset, outputDir, steps = '100', threads, rate = '3e-3'] = process.argv.slice(2)
if (!model || !dataset || !outputDir)
  throw new Error('usage: losses.ts <model> <data set> <output directory> [steps] [threads] [learning rate]')
await mkdir(outputDir, { recursive: true })
const interrupt = new AbortController()
process.once('SIGINT', () => interrupt.abort(new Error('interrupted')))
const runs = await trainLosses({
  settings: {
    model,
    dataset,
    max_seq_length: 256,
    max_steps: Number(steps),
    learning_rate: Number(rate),
    warmup_steps: 20,
    weight_decay: 0.001,
    seed: 1,
  },
  outputDir: join(outputDir, 'runs'),
  signal: interrupt.signal,
  ...(threads !== undefined && { threads: Number(threads) }),
  onStep: (config, { step, total_steps: total, loss }) => {
    if (step % 20 === 0 || step === total)
      console.error(`${config}: step ${step}/${total} loss ${loss.toFixed(4)}`)
  },
})
const table = markdownOf(lossTable(runs))
await writeFile(join(outputDir, 'losses.md'), table)
await writeFile(join(outputDir, 'losses.json'), `${JSON.stringify(runs)}\n`)
for (const { name, svg } of lossCharts(runs)) await writeFile(join(outputDir, `loss-${name}.svg`), svg)
console.log(table)
