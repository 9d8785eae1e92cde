/**
 * Matmul throughput at the shapes of Qwen3-0.6B, beside the peak of the same process: a loop of the same
 * instruction that never leaves the registers, timed right before each row. Arguments: threads (1), rows
 * (2048), repeats (15); the sixth, as in step.ts, an instruction set (the fastest).
 */
import {
  DTYPES,
  LINEAR_ARITHMETICS,
  OP_NAMES,
  byteLength,
  isScaled,
  uniform,
  type Dtype,
  type LinearArithmetic,
} from '@cairn-tune/ops'
import { createEngine, type DeviceBuffer, type Engine } from '@cairn-tune/native'

const [threads = 1, T = 2048, repeats = 15] = process.argv.slice(2, 5).map(Number)

type Row = {
  name: string
  op: 'matmul_nt' | 'matmul_nn' | 'matmul_tn'
  m: number
  n: number
  k: number
  arithmetic: LinearArithmetic
  stored: Dtype
}

const linear = (
  name: string,
  n: number,
  k: number,
  arithmetic: LinearArithmetic = 'bf16',
  stored: Dtype = 'bf16',
): Row => ({ name, op: 'matmul_nt', m: T, n, k, arithmetic, stored })
const back = (
  name: string,
  n: number,
  k: number,
  arithmetic: LinearArithmetic = 'bf16',
  stored: Dtype = 'bf16',
): Row => ({ name: `${name} dx`, op: 'matmul_nn', m: T, n, k, arithmetic, stored })
const gradient = (name: string, m: number, n: number): Row => ({
  name,
  op: 'matmul_tn',
  m,
  n,
  k: T,
  arithmetic: 'bf16',
  stored: 'bf16',
})
const recipe = (name: string, arithmetic: LinearArithmetic, stored: Dtype): Row[] => [
  linear(`${name} gate, up`, 3072, 1024, arithmetic, stored),
  back(`${name} gate`, 1024, 3072, arithmetic, stored),
]

const rows: Row[] = [
  linear('q', 2048, 1024),
  linear('k, v', 1024, 1024),
  linear('o', 1024, 2048),
  linear('gate, up', 3072, 1024),
  linear('down', 1024, 3072),
  linear('head chunk', 8192, 1024),
  back('gate', 1024, 3072),
  back('down', 3072, 1024),
  back('head chunk', 1024, 8192),
  linear('lora A', 16, 1024),
  linear('lora A of q, k, v', 48, 1024),
  linear('lora B', 1024, 16),
  gradient('lora dA', 16, 1024),
  gradient('lora dB', 1024, 16),
  ...recipe('fp8', 'fp8_hybrid', 'fp8_tensor'),
  ...recipe('qfp8', 'bf16', 'fp8_tiles'),
  ...recipe('fp4', 'nvfp4', 'nvfp4'),
  ...recipe('qfp4', 'bf16', 'nvfp4'),
  ...recipe('qbnb', 'bf16', 'nf4'),
  linear('q', 2048, 1024, 'f32', 'f32'),
  linear('gate, up', 3072, 1024, 'f32', 'f32'),
  linear('down', 1024, 3072, 'f32', 'f32'),
]

/**
 * Random bits that are ordinary numbers in every float dtype. Codes and scales of stored dtypes do not affect
 * the speed.
 */
function noise(engine: Engine, dtype: Dtype, shape: number[]): DeviceBuffer {
  const buffer = engine.allocate(byteLength(dtype, shape))
  const pattern = Float32Array.from({ length: 4096 }, (_, i) => uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5)
  const words =
    dtype === 'bf16'
      ? Uint16Array.from(new Uint32Array(pattern.buffer), bits => bits >>> 16)
      : new Uint32Array(pattern.buffer)
  const block = new Uint8Array(words.buffer)
  for (let at = 0; at < buffer.byteLength; at += block.length)
    engine.write(buffer, block.subarray(0, Math.min(block.length, buffer.byteLength - at)), at)
  return buffer
}

/**
 * Measures a program of one product. A rounded left side uses the largest magnitude in `noise`; gradients of
 * nvfp4 are rounded stochastically.
 */
async function measure(
  engine: Engine,
  { op, m, n, k, arithmetic, stored }: Row,
): Promise<{ best: number; median: number }> {
  const float: Dtype = arithmetic === 'f32' ? 'f32' : 'bf16'
  const shapes = {
    matmul_nt: [
      [m, k],
      [n, k],
      [m, n],
    ],
    matmul_nn: [
      [m, k],
      [k, n],
      [m, n],
    ],
    matmul_tn: [
      [k, m],
      [k, n],
      [m, n],
    ],
  }[op]
  const types = [float, stored, float] as const
  const [amax, random] = [engine.adopt(Float32Array.of(0.5)), engine.adopt(Int32Array.of(1, 0, 0))]
  const tensors = [
    ...shapes.flatMap((shape, i) => [DTYPES[types[i] ?? 'f32'].code, 2, ...shape]),
    DTYPES.f32.code,
    1,
    1,
    DTYPES.i32.code,
    1,
    3,
  ]
  const scaling = isScaled(arithmetic) ? [3, op === 'matmul_nn' && arithmetic === 'nvfp4' ? 4 : -1] : [-1, -1]
  const bias = op === 'matmul_nt' ? [-1] : []
  const inputs = op === 'matmul_tn' ? [0, 1, -1] : [0, 1, -1, -1, -1, ...scaling, ...bias]
  const attrs = [
    1,
    LINEAR_ARITHMETICS.indexOf(arithmetic),
    ...(op === 'matmul_nn' ? [0] : []),
    DTYPES[float].code,
  ]
  const program = engine.compile({
    code: Int32Array.of(1, 5, 1, ...tensors, OP_NAMES.indexOf(op), ...inputs, 2),
    attrs: Float64Array.from(attrs),
    places: Float64Array.of(-1, -2, -3, -4, -5),
  })
  const buffers = [...shapes.map((shape, i) => noise(engine, types[i] ?? 'f32', shape)), amax, random]
  const seconds: number[] = []
  for (let i = 0; i < repeats; i++)
    seconds.push((await engine.run(program, engine.allocate(0), buffers)).seconds[0]?.[1] ?? NaN)
  seconds.sort((a, b) => a - b)
  const gigaflop = (2 * m * n * k) / 1e9
  return { best: gigaflop / (seconds[0] ?? NaN), median: gigaflop / (seconds[repeats >> 1] ?? NaN) }
}

const isa = process.argv[7]
using engine = await createEngine({ threads, ...(isa && { isa }), log: line => console.log(line) })
console.log(
  `${engine.isa}, ${threads} thread${threads === 1 ? '' : 's'}, ${T} rows, ${repeats} repeats; GF/s`,
)
console.log(
  '| matmul | M × N × K | weights | peak | best | of peak | median | of peak ' +
    '|\n|---|---|---|---|---|---|---|---|',
)
for (const row of rows) {
  const peak = (threads * engine.peakFlops(row.arithmetic === 'f32' ? 'f32' : 'bf16')) / 1e9
  const { best, median } = await measure(engine, row)
  const share = (rate: number) => (rate / peak).toFixed(2)
  console.log(
    `| ${row.name} | ${row.m} × ${row.n} × ${row.k} | ${row.stored} | ${peak.toFixed(0)} | ` +
      `${best.toFixed(0)} | ${share(best)} | ${median.toFixed(0)} | ${share(median)} |`,
  )
}
