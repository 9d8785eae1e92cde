/**
 * The matmul of few rows by itself: gigabytes of weights per second and per CPU second, for 1 to 64 rows and
 * the sizes of Qwen3-0.6B. CPU seconds make kernels comparable on a shared machine. Arguments: threads (1),
 * storage of the weights (bf16), weights (24, of 6 MB each in bf16).
 */
import { createEngine, type DeviceBuffer } from '@cairn-tune/native'
import { byteLength, type Dtype } from '@cairn-tune/ops'
import { createRecorder, prepare } from '@cairn-tune/program'

const threads = Number(process.argv[2] ?? 1)
const storage = (process.argv[3] ?? 'bf16') as Dtype
const count = Number(process.argv[4] ?? 24)
const [n, k] = [3072, 1024]
const engine = await createEngine({ threads })
function filled(bytes: number): DeviceBuffer {
  const buffer = engine.allocate(bytes)
  engine.write(buffer, memory => memory.fill(0x3c))
  return buffer
}
const weights = Object.fromEntries(
  Array.from({ length: count }, (_, i) => [`w${i}`, filled(byteLength(storage, [n, k]))]),
)
console.log(`${storage}, ${threads} threads, ${engine.isa}\n| rows | GB/s | GB a CPU second |\n|---|---|---|`)
for (const rows of [1, 4, 8, 16, 32, 50, 64, 65]) {
  const g = createRecorder()
  const x = g.input('x', 'bf16', [rows, k])
  const outputs = Object.fromEntries(
    Object.keys(weights).map(name => [
      `y${name}`,
      g.matmul_nt(
        { a: x, b: g.input(name, storage, [n, k]) },
        { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' },
      ).y,
    ]),
  )
  const program = prepare(engine, g.finish(outputs))
  const buffers = {
    ...weights,
    x: filled(rows * k * 2),
    ...Object.fromEntries(Object.keys(outputs).map(name => [`out:${name}`, engine.allocate(rows * n * 2)])),
  }
  await program.run(buffers)
  const [start, cpu] = [performance.now(), process.cpuUsage()]
  for (let i = 0; i < 5; i++) await program.run(buffers)
  const [seconds, used] = [(performance.now() - start) / 1000, process.cpuUsage(cpu)]
  const bytes = 5 * count * byteLength(storage, [n, k])
  console.log(
    `| ${rows} | ${(bytes / seconds / 1e9).toFixed(2)} | ` +
      `${(bytes / (used.user + used.system) / 1e3).toFixed(2)} |`,
  )
}
engine.close()
