/**
 * Tokens per second of whole steps on several ranks compared with one rank, alternately: runs of a few steps
 * of a model (`cairn-tune model new`), one kind after the other in each round. A kind is a number of ranks,
 * with `e` if they divide the experts. With --other, a checkout with its node_modules, each kind runs in that
 * tree as well. The first step of a run allocates memory and does not count.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const { values: given } = parseArgs({
  options: {
    kinds: { type: 'string', default: '1,2,2e,4,4e' },
    other: { type: 'string' },
    model: { type: 'string' },
    recipe: { type: 'string', default: 'bf16' },
    tokens: { type: 'string', default: '512' },
    'micro-batches': { type: 'string', default: '4' },
    steps: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
  },
})
const { model, recipe, tokens, other } = given
if (model === undefined) throw new Error('--model: name the directory of a model')
const [microBatches = NaN, steps = NaN, rounds = NaN] = [
  given['micro-batches'],
  given.steps,
  given.rounds,
].map(Number)

type Kind = { name: string; ranks: number; isDivided: boolean }
const kinds = given.kinds.split(',').map((name): Kind => {
  const [, ranks, divided] = /^(\d+)(e?)$/.exec(name) ?? []
  if (ranks === undefined || microBatches % Number(ranks) !== 0)
    throw new Error(`--kinds: ${name} is not a divisor of ${microBatches} micro-batches`)
  return { name, ranks: Number(ranks), isDivided: divided === 'e' }
})

/** The part of a tree that this program calls. */
type Train = {
  readConfig(options: { flags: string[] }): unknown
  train(config: unknown): Promise<{
    metrics: { slots: number; seconds: number; loss: number }[]
    opSeconds: [op: string, seconds: number][]
    peakRssBytes: number
  }>
}
const here = fileURLToPath(new URL('../../..', import.meta.url))
const trees = await Promise.all(
  [here, ...(other === undefined ? [] : [resolve(other)])].map(async (tree, i) => {
    const path = join(tree, 'tune/train/src/index.ts')
    const { readConfig, train } = (await import(pathToFileURL(path).href)) as Train
    return { name: i === 0 ? 'here' : 'there', readConfig, train }
  }),
)

const directory = mkdtempSync(join(tmpdir(), 'cairn-rank-steps-'))
const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

/** Trains once. Returns tokens per second of the median step, and the largest memory of a rank. */
async function measure({ readConfig, train }: (typeof trees)[number], { ranks, isDivided }: Kind) {
  const output = join(directory, 'run')
  const flags = {
    model,
    dataset: 'problems:ro',
    output_dir: output,
    device: 'cpu',
    recipe,
    max_seq_length: tokens,
    per_device_train_batch_size: 1,
    gradient_accumulation_steps: microBatches / ranks,
    max_steps: steps,
    ...(ranks === 1 ? {} : { ranks }),
    ...(isDivided ? { expert_parallel: ranks } : {}),
  }
  const config = readConfig({ flags: Object.entries(flags).map(([key, value]) => `--${key}=${value}`) })
  const { metrics, opSeconds, peakRssBytes } = await train(config)
  rmSync(output, { recursive: true })
  const [op, seconds] = opSeconds[0] ?? ['no op', 0]
  const loss = metrics.at(-1)?.loss ?? NaN
  console.log(`    loss ${loss}; rank 0 spent ${seconds.toFixed(2)} s in ${op}`)
  return {
    rate: median(metrics.slice(1).map(metric => metric.slots / metric.seconds)),
    gibibytes: peakRssBytes / 2 ** 30,
  }
}

try {
  const columns = kinds.flatMap(kind =>
    trees.map(tree => ({
      kind,
      tree,
      name: trees.length > 1 ? `${kind.name} ${tree.name}` : kind.name,
      rates: Array<number>(),
      gibibytes: 0,
    })),
  )
  for (let round = 0; round < rounds; round++)
    for (const column of round % 2 === 0 ? columns : columns.toReversed()) {
      const { rate, gibibytes } = await measure(column.tree, column.kind)
      column.rates.push(rate)
      column.gibibytes = Math.max(column.gibibytes, gibibytes)
      console.log(`round ${round + 1}, ${column.name}: ${rate.toFixed(0)} tokens/s`)
    }
  const [base] = columns
  console.log(
    `\n${model}, ${recipe}, steps of ${microBatches} × ${tokens} tokens, ${rounds} rounds\n` +
      `| ranks | tokens/s | relative to ${base?.name} | peak of a process, GiB |\n|---|---|---|---|`,
  )
  for (const { name, rates, gibibytes } of columns) {
    const ratios = rates.map((rate, round) => rate / (base?.rates[round] ?? NaN))
    const [low, high] = [Math.min(...ratios), Math.max(...ratios)]
    console.log(
      `| ${name} | ${median(rates).toFixed(0)} | ${median(ratios).toFixed(2)} ` +
        `(${low.toFixed(2)}–${high.toFixed(2)}) | ${gibibytes.toFixed(2)} |`,
    )
  }
} finally {
  rmSync(directory, { recursive: true })
}
