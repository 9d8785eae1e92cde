/**
 * Matmul throughput at the shapes of Qwen3-0.6B, beside the ceiling of the same process: a loop of the same instruction that never leaves the
 * registers, timed right before each row. Arguments: threads (1), rows (2048), repeats (15).
 */
import { ARITHMETICS, DTYPES, OP_NAMES, byteLength, uniform, type Arithmetic, type Dtype, type OpName } from '@cairn-tune/ops'
import { createEngine, type Engine } from '@cairn-tune/native'

const [threads = 1, T = 2048, repeats = 15] = process.argv.slice(2).map(Number)

type Row = { name: string; op: OpName; n: number; k: number; arithmetic: Arithmetic; stored: Dtype }

const linear = (name: string, n: number, k: number, arithmetic: Arithmetic = 'bf16', stored: Dtype = arithmetic): Row => ({ name, op: 'matmul_nt', n, k, arithmetic, stored })
const back = (name: string, n: number, k: number): Row => ({ name: `${name} dx`, op: 'matmul_nn', n, k, arithmetic: 'bf16', stored: 'bf16' })

const rows: Row[] = [
  linear('q', 2048, 1024), linear('k, v', 1024, 1024), linear('o', 1024, 2048), linear('gate, up', 3072, 1024), linear('down', 1024, 3072), linear('head chunk', 8192, 1024),
  back('gate', 1024, 3072), back('down', 3072, 1024), back('head chunk', 1024, 8192),
  linear('lora A', 16, 1024), linear('lora A of q, k, v', 48, 1024), linear('lora B', 1024, 16),
  linear('gate, up', 3072, 1024, 'bf16', 'fp8_tiles'), linear('gate, up', 3072, 1024, 'bf16', 'nvfp4'), linear('gate, up', 3072, 1024, 'bf16', 'nf4'),
  linear('q', 2048, 1024, 'f32'), linear('gate, up', 3072, 1024, 'f32'), linear('down', 1024, 3072, 'f32'),
]

/** Random bits that are ordinary numbers in every float dtype; codes and scales of stored ones do not change the speed. */
function noise(engine: Engine, dtype: Dtype, shape: number[]): Uint8Array {
  const bytes = engine.allocate(byteLength(dtype, shape))
  const pattern = Float32Array.from({ length: 4096 }, (_, i) => uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5)
  const words = dtype === 'bf16' ? Uint16Array.from(new Uint32Array(pattern.buffer), bits => bits >>> 16) : new Uint32Array(pattern.buffer)
  const block = new Uint8Array(words.buffer)
  for (let at = 0; at < bytes.length; at += block.length) bytes.set(block.subarray(0, Math.min(block.length, bytes.length - at)), at)
  return bytes
}

async function measure(engine: Engine, { op, n, k, arithmetic, stored }: Row): Promise<{ best: number; median: number }> {
  const dtype = DTYPES[arithmetic].code
  const shapes = [[T, k], op === 'matmul_nt' ? [n, k] : [k, n], [T, n]]
  const types = [arithmetic, stored, arithmetic] as const
  const tensors = shapes.flatMap((shape, i) => [DTYPES[types[i] ?? 'f32'].code, 2, ...shape])
  const program = engine.compile({
    code: Int32Array.of(1, 3, 1, ...tensors, OP_NAMES.indexOf(op), 0, 1, -1, -1, -1, -1, -1, 2),
    attrs: Float64Array.from(op === 'matmul_nn' ? [1, ARITHMETICS.indexOf(arithmetic), 0, dtype] : [1, ARITHMETICS.indexOf(arithmetic), dtype]),
    places: Float64Array.of(-1, -2, -3),
  })
  const buffers = shapes.map((shape, i) => noise(engine, types[i] ?? 'f32', shape))
  const seconds: number[] = []
  for (let i = 0; i < repeats; i++) seconds.push((await engine.run(program, new Uint8Array(), buffers)).seconds[0]?.[1] ?? NaN)
  seconds.sort((a, b) => a - b)
  const gigaflop = (2 * T * n * k) / 1e9
  return { best: gigaflop / (seconds[0] ?? NaN), median: gigaflop / (seconds[repeats >> 1] ?? NaN) }
}

using engine = await createEngine({ threads, log: line => console.log(line) })
console.log(`${engine.isa}, ${threads} thread${threads === 1 ? '' : 's'}, ${T} rows, ${repeats} repeats; GF/s`)
console.log('| matmul | N × K | weights | peak | best | of peak | median | of peak |\n|---|---|---|---|---|---|---|---|')
for (const row of rows) {
  const peak = (threads * engine.peakFlops(row.arithmetic)) / 1e9
  const { best, median } = await measure(engine, row)
  const share = (rate: number) => (rate / peak).toFixed(2)
  console.log(`| ${row.name} | ${row.n} × ${row.k} | ${row.stored} | ${peak.toFixed(0)} | ${best.toFixed(0)} | ${share(best)} | ${median.toFixed(0)} | ${share(median)} |`)
}
