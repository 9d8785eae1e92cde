/**
 * Products of experts in the shape of Qwen3-30B-A3B's (hidden 2048, feed-forward 768), forward and towards
 * the input, one storage of the base after the other in each round. Prints their share of the register peak,
 * which is timed around each, and with --parts what a weight costs: `multiply` is the time that as many rows
 * again add, `pack` the rest of bf16's time, and `decode` what the storage takes beyond bf16. Times are
 * medians of the processor time of one thread, which other load on the machine hardly changes. With --other,
 * a checkout with its node_modules, the kernels of that tree run alternately with these, and the speed of
 * these relative to those is in parentheses.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { createEngine, type Engine } from '@cairn-tune/native'
import { DTYPE_NAMES, byteLength, uniform, type Dtype } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare } from '@cairn-tune/program'

const PARTS = ['decode', 'pack', 'multiply'] as const
type Part = (typeof PARTS)[number]

const { values: given } = parseArgs({
  options: {
    rows: { type: 'string', default: '8,32,256' },
    stored: { type: 'string', default: 'bf16,nf4,nvfp4,mxfp4,fp8_tiles' },
    parts: { type: 'string', default: '' },
    experts: { type: 'string', default: '8' },
    rounds: { type: 'string', default: '9' },
    isa: { type: 'string' },
    other: { type: 'string' },
  },
})

/** The items of a list, each of which must be one of `known`. */
function listOf<Name extends string>(option: string, text: string, known: readonly Name[]): Name[] {
  return text
    .split(',')
    .filter(item => item !== '')
    .map(item => {
      const found = known.find(name => name === item)
      if (found === undefined) throw new Error(`--${option}: unknown ${item}, expected ${known.join(', ')}`)
      return found
    })
}
function countOf(option: string, text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new Error(`--${option}: ${text} is not a count above 0`)
  return count
}

const stored = listOf('stored', given.stored, DTYPE_NAMES)
const parts = listOf<Part>('parts', given.parts, PARTS)
if (parts.length > 0 && !stored.includes('bf16'))
  throw new Error('--parts compares storages with bf16: add bf16 to --stored')
const rowCounts = given.rows.split(',').map(text => countOf('rows', text))
const [E, rounds] = [countOf('experts', given.experts), countOf('rounds', given.rounds)]
const [H, F] = [2048, 768]
const noise = Float32Array.from(
  { length: 65_536 },
  (_, i) => (uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5) * 0.1,
)
const options = { threads: 1, ...(given.isa && { isa: given.isa }) }
using engine = await createEngine(options)

async function engineOf(tree: string): Promise<Engine> {
  const native: { createEngine: typeof createEngine } = await import(
    pathToFileURL(resolve(tree, 'tune/native/src/index.ts')).href
  )
  return await native.createEngine(options)
}
using other = given.other === undefined ? undefined : await engineOf(given.other)

type Op = 'expert_matmul_nt' | 'expert_matmul_nn'
type Product = { name: string; op: Op; n: number; k: number }
const products: Product[] = [
  { name: 'gate, up', op: 'expert_matmul_nt', n: F, k: H },
  { name: 'down', op: 'expert_matmul_nt', n: H, k: F },
  { name: 'down, towards the input', op: 'expert_matmul_nn', n: F, k: H },
  { name: 'gate, towards the input', op: 'expert_matmul_nn', n: H, k: F },
]

async function quantised(engine: Engine, dtype: Dtype, shape: number[]) {
  const values = Float32Array.from(
    { length: shape.reduce((a, b) => a * b, 1) },
    (_, i) => noise[i % 65_521] ?? 0,
  )
  const y = engine.allocate(byteLength(dtype, shape))
  const g = createRecorder()
  const x = g.input('x', 'f32', [shape.slice(0, -1).reduce((a, b) => a * b, 1), shape.at(-1) ?? 1])
  const made = dtype === 'bf16' ? g.cast({ x }, { dtype }).y : g.quantize({ x }, { dtype }).y
  await prepare(engine, g.finish({ y: made })).run({ x: engine.adopt(values), [outputBinding('y')]: y })
  return y
}

async function ready(engine: Engine, { op, n, k }: Product, dtype: Dtype, rows: number) {
  const weights = op === 'expert_matmul_nt' ? [E, n, k] : [E, k, n]
  const g = createRecorder()
  const a = g.input('a', 'bf16', [rows * E, k])
  const inputs = { a, b: g.input('b', dtype, weights), ends: g.input('ends', 'i32', [E]) }
  const { y } =
    op === 'expert_matmul_nt'
      ? g.expert_matmul_nt(inputs, { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' })
      : g.expert_matmul_nn(inputs, { alpha: 1, arithmetic: 'bf16', stream: 0, dtype: 'bf16' })
  return prepare(engine, g.finish({ y })).bind({
    a: await quantised(engine, 'bf16', [rows * E, k]),
    b: await quantised(engine, dtype, weights),
    ends: engine.adopt(Int32Array.from({ length: E }, (_, e) => (e + 1) * rows)),
    [outputBinding('y')]: engine.allocate(rows * E * n * 2),
  })
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

async function processorSeconds(run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

/** Median seconds of each storage for a number of rows, its share of the peak, and the speed beside `other`. */
async function measure(product: Product, rows: number) {
  const runs = await Promise.all(
    stored.map(async dtype => ({
      run: await ready(engine, product, dtype, rows),
      theirs: other && (await ready(other, product, dtype, rows)),
      seconds: Array<number>(),
      ofPeak: Array<number>(),
      ratios: Array<number>(),
    })),
  )
  for (const { run, theirs } of runs) await Promise.all([run(), theirs?.()])
  for (let i = 0; i < rounds; i++)
    for (const { run, theirs, seconds, ofPeak, ratios } of runs) {
      const before = engine.peakFlops('bf16')
      const first = theirs && i % 2 === 0 ? await processorSeconds(theirs) : undefined
      const taken = await processorSeconds(run)
      const then = first ?? (theirs && (await processorSeconds(theirs)))
      const peak = Math.max(before, engine.peakFlops('bf16'))
      seconds.push(taken)
      ofPeak.push((2 * rows * E * product.n * product.k) / taken / peak)
      if (then !== undefined) ratios.push(then / taken)
    }
  return runs.map(one => ({
    seconds: median(one.seconds),
    ofPeak: median(one.ofPeak),
    ratio: one.ratios.length > 0 ? ` (${median(one.ratios).toFixed(3)})` : '',
  }))
}

console.log(`${engine.isa}, 1 thread, ${E} experts, ${rounds} rounds; of the register peak`)
console.log(`| product | rows of an expert | ${stored.join(' | ')} |`)
console.log(`|---|---|${stored.map(() => '---|').join('')}`)
const costs: string[] = []
for (const rows of rowCounts)
  for (const product of products) {
    const [once, twice] = [
      await measure(product, rows),
      parts.length > 0 ? await measure(product, 2 * rows) : [],
    ]
    console.log(
      `| ${product.name} | ${rows} | ${once.map(one => one.ofPeak.toFixed(2) + one.ratio).join(' | ')} |`,
    )
    const nanoseconds = (seconds: number) => (1e9 * seconds) / (E * product.n * product.k)
    const fixed = once.map(({ seconds }, i) => nanoseconds(2 * seconds - (twice[i]?.seconds ?? NaN)))
    const plain = fixed[stored.indexOf('bf16')] ?? NaN
    const cost = (i: number): Record<Part, number> => ({
      multiply: nanoseconds((twice[i]?.seconds ?? NaN) - (once[i]?.seconds ?? NaN)),
      pack: plain,
      decode: (fixed[i] ?? NaN) - plain,
    })
    for (const [i, dtype] of stored.entries()) {
      const cells = parts.map(part => cost(i)[part].toFixed(3))
      costs.push(`| ${product.name} | ${rows} | ${dtype} | ${cells.join(' | ')} |`)
    }
  }
if (parts.length > 0)
  console.log(
    [
      '\nNanoseconds a weight',
      `| product | rows of an expert | storage | ${parts.join(' | ')} |`,
      `|---|---|---|${parts.map(() => '---|').join('')}`,
      ...costs,
    ].join('\n'),
  )
