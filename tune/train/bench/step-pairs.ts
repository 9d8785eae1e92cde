/**
 * A LoRA micro-step of this tree compared with one of another tree, alternately in one process, so that other
 * load on the machine affects both. Argument: the other tree, a checkout with its node_modules. Options:
 * --pairs (16), --threads (2), --recipe (bf16), --shape (qwen3-0.6b), --layers (4), --tokens (2048), --isa
 * (the fastest of each). Both share per-process state, such as that of a matrix unit.
 */
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

/** The measured part of a tree. */
type Step = { run(): Promise<{ loss: number }> }
type Native = {
  createEngine(options: {
    threads: number
    isa?: string
    log: (line: string) => void
  }): Promise<{ isa: string }>
}
type Bench = {
  prepareLoraStep(
    engine: { isa: string },
    options: { recipe: string; shape: string; tokens: number; layers: number },
  ): Promise<Step>
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '16' },
    threads: { type: 'string', default: '2' },
    recipe: { type: 'string', default: 'bf16' },
    shape: { type: 'string', default: 'qwen3-0.6b' },
    layers: { type: 'string', default: '4' },
    tokens: { type: 'string', default: '2048' },
    isa: { type: 'string' },
  },
})
const { pairs, threads, recipe, shape, isa } = values
const [other] = positionals
if (other === undefined) throw new Error('usage: step-pairs.ts OTHER_TREE [--pairs N] [--recipe NAME] …')

async function stepOf(tree: string): Promise<Step> {
  const load = (path: string): Promise<unknown> => import(pathToFileURL(resolve(tree, path)).href)
  const { createEngine } = (await load('tune/native/src/index.ts')) as Native
  const { prepareLoraStep } = (await load('tune/train/bench/lora-step.ts')) as Bench
  const engine = await createEngine({ threads: Number(threads), ...(isa && { isa }), log: console.log })
  console.log(`${tree}: ${shape}, ${recipe}, ${engine.isa}, ${threads} threads`)
  const [tokens, layers] = [Number(values.tokens), Number(values.layers)]
  return await prepareLoraStep(engine, { recipe, shape, tokens, layers })
}

async function timed(step: Step): Promise<number> {
  const start = performance.now()
  await step.run()
  return (performance.now() - start) / 1000
}

const theirs = await stepOf(resolve(other))
const ours = await stepOf(fileURLToPath(new URL('../../..', import.meta.url)))
const quotients: number[] = []
// The first pair allocates memory.
for (let i = -1; i < Number(pairs); i++) {
  const first = await timed(i % 2 === 0 ? theirs : ours)
  const second = await timed(i % 2 === 0 ? ours : theirs)
  const [then, now] = i % 2 === 0 ? [first, second] : [second, first]
  console.log(`${then.toFixed(2)} s there, ${now.toFixed(2)} s here${i < 0 ? ', not counted' : ''}`)
  if (i >= 0) quotients.push(then / now)
}
const logs = quotients.map(Math.log)
const mean = logs.reduce((sum, one) => sum + one, 0) / logs.length
const squares = logs.reduce((sum, one) => sum + (one - mean) ** 2, 0)
const margin = 1.96 * Math.sqrt(squares / (logs.length - 1) / logs.length)
const median = quotients.toSorted((a, b) => a - b)[quotients.length >> 1] ?? NaN
console.log(
  `speed of this tree by the other one: ${median.toFixed(3)} at the median, ` +
    `${Math.exp(mean).toFixed(3)} ± ${margin.toFixed(3)} at the mean (95 of 100 cases, as of the normal law)`,
)
