/**
 * Products of experts in the shape of Qwen3-30B-A3B's (hidden 2048, feed-forward 768) as a share of the
 * register peak that is timed around each: forward and towards the input, with the base stored in bf16 and in
 * blocks, one storage after the other in each round. Arguments: threads (1), rows per expert (256), experts
 * (8), rounds (9), instruction set (the fastest).
 */
import { createEngine } from '@cairn-tune/native'
import { byteLength, uniform, type Dtype } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare } from '@cairn-tune/program'

const [threads = 1, rows = 256, E = 8, rounds = 9] = process.argv.slice(2, 6).map(Number)
const [H, F] = [2048, 768]
const P = rows * E
const STORED: readonly Dtype[] = ['bf16', 'nf4', 'nvfp4', 'mxfp4', 'fp8_tiles']
const noise = Float32Array.from(
  { length: 65_536 },
  (_, i) => (uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5) * 0.1,
)
const isa = process.argv[6]
using engine = await createEngine({ threads, ...(isa && { isa }) })
console.log(`${engine.isa}, ${threads} thread(s), ${E} experts of ${rows} rows`)

type Op = 'expert_matmul_nt' | 'expert_matmul_nn'
type Row = { name: string; op: Op; n: number; k: number }
const list: Row[] = [
  { name: 'gate, up', op: 'expert_matmul_nt', n: F, k: H },
  { name: 'down', op: 'expert_matmul_nt', n: H, k: F },
  { name: 'down, towards the input', op: 'expert_matmul_nn', n: F, k: H },
  { name: 'gate, towards the input', op: 'expert_matmul_nn', n: H, k: F },
]

async function quantised(dtype: Dtype, shape: number[]) {
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

async function ready({ op, n, k }: Row, stored: Dtype) {
  const weights = op === 'expert_matmul_nt' ? [E, n, k] : [E, k, n]
  const g = createRecorder()
  const a = g.input('a', 'bf16', [P, k])
  const inputs = { a, b: g.input('b', stored, weights), ends: g.input('ends', 'i32', [E]) }
  const { y } =
    op === 'expert_matmul_nt'
      ? g.expert_matmul_nt(inputs, { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' })
      : g.expert_matmul_nn(inputs, { alpha: 1, arithmetic: 'bf16', stream: 0, dtype: 'bf16' })
  return prepare(engine, g.finish({ y })).bind({
    a: await quantised('bf16', [P, k]),
    b: await quantised(stored, weights),
    ends: engine.adopt(Int32Array.from({ length: E }, (_, e) => (e + 1) * rows)),
    [outputBinding('y')]: engine.allocate(P * n * 2),
  })
}

console.log(`| product | ${STORED.map(stored => `${stored}, of peak | of bf16`).join(' | ')} |`)
for (const row of list) {
  const runs = await Promise.all(STORED.map(async stored => ({ run: await ready(row, stored), best: 0 })))
  for (const { run } of runs) await run()
  for (let i = 0; i < rounds; i++)
    for (const one of runs) {
      const before = engine.peakFlops('bf16')
      const start = performance.now()
      await one.run()
      const seconds = (performance.now() - start) / 1000
      const peak = (threads * (before + engine.peakFlops('bf16'))) / 2
      one.best = Math.max(one.best, (2 * P * row.n * row.k) / seconds / peak)
    }
  const plain = runs[0]?.best ?? NaN
  const cells = runs.map(({ best }) => `${best.toFixed(2)} | ${(best / plain).toFixed(2)}`)
  console.log(`| ${row.name} | ${cells.join(' | ')} |`)
}
